/* Integer handlers: the definitions that vm/code/handlers_integer.def names. See handler.h for what a handler is. */
#include "vm/run/handler.h"

#define BINARY(name, i, j, n3, args) BINARY_(name, i, j, UNPACK args)
#define UNPACK(...) __VA_ARGS__
#define BINARY_(...) BINARY__(__VA_ARGS__)
#define BINARY__(name, i, j, type, expression)   \
    HANDLER(name##_##i##_##j##_n)                \
    {                                            \
        type a = GET(type, i), b = GET(type, j); \
        SET(i, (type)(expression));              \
        NEXT(BYTES(j));                          \
    }

/* The operands carry 4 bytes of nothing, so that a trap has a position of its own. */
#define DIVIDE(name, i, j, n3, args) DIVIDE_(name, i, j, UNPACK args)
#define DIVIDE_(...) DIVIDE__(__VA_ARGS__)
#define DIVIDE__(name, i, j, type, overflows, expression)                                     \
    HANDLER(name##_##i##_##j##_n)                                                             \
    {                                                                                         \
        type a = GET(type, i), b = GET(type, j);                                              \
        if (UNLIKELY(b == 0))                                                                 \
            TRAP(VM_TRAP_DIVIDE_BY_ZERO);                                                     \
        if (overflows && UNLIKELY(b == (type) - 1 && a == (type)1 << (sizeof(type) * 8 - 1))) \
            TRAP(VM_TRAP_INTEGER_OVERFLOW);                                                   \
        SET(i, (type)(expression));                                                           \
        NEXT(BYTES(j) + 4);                                                                   \
    }

#define COMPARE(name, i, j, n3, args) COMPARE_(name, i, j, UNPACK args)
#define COMPARE_(...) COMPARE__(__VA_ARGS__)
#define COMPARE__(name, i, j, type, condition)   \
    HANDLER(name##_##i##_##j##_n)                \
    {                                            \
        type a = GET(type, i), b = GET(type, j); \
        SET(i, (u32)(condition));                \
        NEXT(BYTES(j));                          \
    }

#define COMPARE_BRANCH(name, i, j, n3, args) COMPARE_BRANCH_(name, i, j, UNPACK args)
#define COMPARE_BRANCH_(...) COMPARE_BRANCH__(__VA_ARGS__)
#define COMPARE_BRANCH__(name, i, j, type, condition) \
    HANDLER(name##_##i##_##j##_n)                     \
    {                                                 \
        type a = GET(type, i), b = GET(type, j);      \
        if (LIKELY(condition))                        \
            TAKE(BYTES(j));                           \
        NEXT(BYTES(j) + TARGET_BYTES);                \
    }

#define TEST_BRANCH(name, i, n2, n3, args) TEST_BRANCH_(name, i, UNPACK args)
#define TEST_BRANCH_(...) TEST_BRANCH__(__VA_ARGS__)
#define TEST_BRANCH__(name, i, type, condition) \
    HANDLER(name##_##i##_n_n)                   \
    {                                           \
        type a = GET(type, i);                  \
        if (LIKELY(condition))                  \
            TAKE(0);                            \
        NEXT(TARGET_BYTES);                     \
    }

#define TEST_SLOT_BRANCH(name, n1, n2, n3, args) TEST_SLOT_BRANCH_(name, UNPACK args)
#define TEST_SLOT_BRANCH_(...) TEST_SLOT_BRANCH__(__VA_ARGS__)
#define TEST_SLOT_BRANCH__(name, type, condition) \
    HANDLER(name##_n_n_n)                         \
    {                                             \
        type a = GET(type, S);                    \
        if (LIKELY(condition))                    \
            TAKE(4);                              \
        NEXT(4 + TARGET_BYTES);                   \
    }

#define UNARY(name, i, n2, n3, args) UNARY_(name, i, UNPACK args)
#define UNARY_(...) UNARY__(__VA_ARGS__)
#define UNARY__(name, i, type, expression) \
    HANDLER(name##_##i##_n_n)              \
    {                                      \
        type a = GET(type, i);             \
        SET(i, (type)(expression));        \
        NEXT(0);                           \
    }

#define SELECT(name, i, j, k, args)                      \
    HANDLER(name##_##i##_##j##_##k)                      \
    {                                                    \
        SET(i, GET(u32, k) ? GET(u64, i) : GET(u64, j)); \
        NEXT(0);                                         \
    }

#define CONST32(name, i, n2, n3, args) \
    HANDLER(name##_##i##_n_n)          \
    {                                  \
        SET(i, U32(0));                \
        NEXT(4);                       \
    }
#define CONST64(name, i, n2, n3, args) \
    HANDLER(name##_##i##_n_n)          \
    {                                  \
        SET(i, U64(0));                \
        NEXT(8);                       \
    }
#define CONST32_SLOT(name, n1, n2, n3, args) \
    HANDLER(name##_n_n_n)                    \
    {                                        \
        STORE_AT(u64, SLOT(0), U32(4));      \
        NEXT(8);                             \
    }
#define CONST64_SLOT(name, n1, n2, n3, args) \
    HANDLER(name##_n_n_n)                    \
    {                                        \
        STORE_AT(u64, SLOT(0), U64(4));      \
        NEXT(12);                            \
    }
#define COPY(name, i, j, n3, args) \
    HANDLER(name##_##i##_##j##_n)  \
    {                              \
        SET(i, GET(u64, j));       \
        NEXT(0);                   \
    }
#define COPY_SLOT(name, n1, n2, n3, args)              \
    HANDLER(name##_n_n_n)                              \
    {                                                  \
        STORE_AT(u64, SLOT(0), LOAD_AT(u64, SLOT(4))); \
        NEXT(8);                                       \
    }
/* Operands: to the first slot, from the first slot, how many; not upwards where they overlap. The empty asm keeps this
 * from becoming a call of memmove. */
#define COPY_SLOTS(name, n1, n2, n3, args)                                     \
    HANDLER(name##_n_n_n)                                                      \
    {                                                                          \
        uint8_t *to = SLOT(0), *from = SLOT(4), *end = from + U32(8) * (u64)8; \
        do {                                                                   \
            STORE_AT(u64, to, LOAD_AT(u64, from));                             \
            to += 8;                                                           \
            from += 8;                                                         \
            __asm__ volatile("" : "+r"(from));                                 \
        } while (from != end);                                                 \
        NEXT(12);                                                              \
    }
#define LOAD_SLOT(name, i, n2, n3, args) \
    HANDLER(name##_##i##_n_n)            \
    {                                    \
        SET(i, LOAD_AT(u64, SLOT(0)));   \
        NEXT(4);                         \
    }
#define STORE_SLOT(name, i, n2, n3, args)    \
    HANDLER(name##_##i##_n_n)                \
    {                                        \
        STORE_AT(u64, SLOT(0), GET(u64, i)); \
        NEXT(4);                             \
    }

#define HANDLERS DEFINE_FAMILY
#include "vm/code/handlers_integer.def"
