/* Float handlers: the definitions that vm/code/handlers_float.def names.
 *
 * A stencil may not refer to a constant in memory, and clang keeps float constants there; so every constant is made
 * from integer bits behind an empty asm (BITS), which the compiler cannot see through. */
#include "vm/run/handler.h"

#define UNPACK(...) __VA_ARGS__

#if defined(__x86_64__)
#define FLOAT_CONSTRAINT(value) "+x"(value)
#elif defined(__aarch64__)
#define FLOAT_CONSTRAINT(value) "+w"(value)
#endif

#define BITS(type, integer, bits)        \
    ({                                   \
        integer bits_ = (bits);          \
        __asm__("" : "+r"(bits_));       \
        __builtin_bit_cast(type, bits_); \
    })

#define SIGN_OPERATIONS(f, u, sign)                                                                        \
    static inline f abs_##f(f a)                                                                           \
    {                                                                                                      \
        return BITS(f, u, __builtin_bit_cast(u, a) & ~(sign));                                             \
    }                                                                                                      \
    static inline f neg_##f(f a)                                                                           \
    {                                                                                                      \
        return BITS(f, u, __builtin_bit_cast(u, a) ^ (sign));                                              \
    }                                                                                                      \
    static inline f copysign_##f(f a, f b)                                                                 \
    {                                                                                                      \
        u magnitude = __builtin_bit_cast(u, a), of = __builtin_bit_cast(u, b);                             \
        return BITS(f, u, (magnitude & ~(sign)) | (of & (sign)));                                          \
    }                                                                                                      \
    /* Of equal operands only the zeros differ: -0 is the smaller one. Unordered: a + b is a quiet NaN. */ \
    static inline f min_##f(f a, f b)                                                                      \
    {                                                                                                      \
        if (a < b)                                                                                         \
            return a;                                                                                      \
        if (b < a)                                                                                         \
            return b;                                                                                      \
        if (a == b)                                                                                        \
            return BITS(f, u, __builtin_bit_cast(u, a) | __builtin_bit_cast(u, b));                        \
        return a + b;                                                                                      \
    }                                                                                                      \
    static inline f max_##f(f a, f b)                                                                      \
    {                                                                                                      \
        if (a > b)                                                                                         \
            return a;                                                                                      \
        if (b > a)                                                                                         \
            return b;                                                                                      \
        if (a == b)                                                                                        \
            return BITS(f, u, __builtin_bit_cast(u, a) & __builtin_bit_cast(u, b));                        \
        return a + b;                                                                                      \
    }
SIGN_OPERATIONS(f32, u32, 0x80000000u)
SIGN_OPERATIONS(f64, u64, 0x8000000000000000u)

/* Halving an odd number keeps its lowest bit, so that the conversion rounds as it would have (round to odd). */
static inline f32 convert_u64_f32(u64 a)
{
    if (LIKELY((i64)a >= 0))
        return (f32)(i64)a;
    f32 half = (f32)(i64)(a >> 1 | (a & 1));
    return half + half;
}
static inline f64 convert_u64_f64(u64 a)
{
    if (LIKELY((i64)a >= 0))
        return (f64)(i64)a;
    f64 half = (f64)(i64)(a >> 1 | (a & 1));
    return half + half;
}
static inline u64 convert_f32_u64(f32 a)
{
    f32 top = BITS(f32, u32, 0x5f000000);
    return a < top ? (u64)(i64)a : (u64)(i64)(a - top) ^ 0x8000000000000000u;
}
static inline u64 convert_f64_u64(f64 a)
{
    f64 top = BITS(f64, u64, 0x43e0000000000000);
    return a < top ? (u64)(i64)a : (u64)(i64)(a - top) ^ 0x8000000000000000u;
}
#define INTEGER_OF_f32 u32
#define INTEGER_OF_f64 u64

#define FLOAT_BINARY(name, i, j, n3, args) FLOAT_BINARY_(name, i, j, UNPACK args)
#define FLOAT_BINARY_(...) FLOAT_BINARY__(__VA_ARGS__)
#define FLOAT_BINARY__(name, i, j, type, expression)         \
    HANDLER(name##_##i##_##j##_n)                            \
    {                                                        \
        type a = GET_FLOAT(type, i), b = GET_FLOAT(type, j); \
        SET_FLOAT(type, i, (expression));                    \
        NEXT(BYTES(j));                                      \
    }

#define FLOAT_UNARY(name, i, n2, n3, args) FLOAT_UNARY_(name, i, UNPACK args)
#define FLOAT_UNARY_(...) FLOAT_UNARY__(__VA_ARGS__)
#define FLOAT_UNARY__(name, i, type, expression) \
    HANDLER(name##_##i##_n_n)                    \
    {                                            \
        type a = GET_FLOAT(type, i);             \
        SET_FLOAT(type, i, (expression));        \
        NEXT(0);                                 \
    }

#define FLOAT_COMPARE(name, i, j, n3, args) FLOAT_COMPARE_(name, i, j, UNPACK args)
#define FLOAT_COMPARE_(...) FLOAT_COMPARE__(__VA_ARGS__)
#define FLOAT_COMPARE__(name, i, j, type, condition)         \
    HANDLER(name##_##i##_##j##_n)                            \
    {                                                        \
        type a = GET_FLOAT(type, i), b = GET_FLOAT(type, j); \
        SET(0, (u32)(condition));                            \
        NEXT(0);                                             \
    }

#define FLOAT_COMPARE_BRANCH(name, i, j, n3, args) FLOAT_COMPARE_BRANCH_(name, i, j, UNPACK args)
#define FLOAT_COMPARE_BRANCH_(...) FLOAT_COMPARE_BRANCH__(__VA_ARGS__)
#define FLOAT_COMPARE_BRANCH__(name, i, j, type, condition)  \
    HANDLER(name##_##i##_##j##_n)                            \
    {                                                        \
        type a = GET_FLOAT(type, i), b = GET_FLOAT(type, j); \
        if (LIKELY(condition))                               \
            TAKE(BYTES(j));                                  \
        NEXT(BYTES(j) + TARGET_BYTES);                       \
    }

#define FLOAT_RESIZE(name, i, n2, n3, args) FLOAT_RESIZE_(name, i, UNPACK args)
#define FLOAT_RESIZE_(...) FLOAT_RESIZE__(__VA_ARGS__)
#define FLOAT_RESIZE__(name, i, to, from)         \
    HANDLER(name##_##i##_n_n)                     \
    {                                             \
        SET_FLOAT(to, i, (to)GET_FLOAT(from, i)); \
        NEXT(0);                                  \
    }

/* cvtsi2sd leaves the upper lanes, so it waits for whoever wrote the register last; a fresh zero waits for nobody. */
#define INT_TO_FLOAT(name, i, j, n3, args) INT_TO_FLOAT_(name, i, j, UNPACK args)
#define INT_TO_FLOAT_(...) INT_TO_FLOAT__(__VA_ARGS__)
#define INT_TO_FLOAT__(name, i, j, type, integer) \
    HANDLER(name##_##i##_##j##_n)                 \
    {                                             \
        u64 a = GET(u64, j);                      \
        float_register fresh = {0};               \
        __asm__("" : FLOAT_CONSTRAINT(fresh));    \
        f##i = WITH_##type(fresh, (integer));     \
        NEXT(0);                                  \
    }

#define REINTERPRET_INT(name, i, j, n3, args)                 \
    HANDLER(name##_##i##_##j##_n)                             \
    {                                                         \
        f##i = NEW_f64(__builtin_bit_cast(f64, GET(u64, j))); \
        NEXT(0);                                              \
    }

/* The operands carry 4 bytes of nothing, so that a trap has a position of its own. */
#define FLOAT_TO_INT(name, i, j, n3, args) FLOAT_TO_INT_(name, i, j, UNPACK args)
#define FLOAT_TO_INT_(...) FLOAT_TO_INT__(__VA_ARGS__)
#define FLOAT_TO_INT__(name, i, j, type, result, below, above, magnitude)                                        \
    HANDLER(name##_##i##_##j##_n)                                                                                \
    {                                                                                                            \
        type a = GET_FLOAT(type, j);                                                                             \
        if (UNLIKELY(!(a > BITS(type, INTEGER_OF_##type, below) && a < BITS(type, INTEGER_OF_##type, above)))) { \
            if (a != a)                                                                                          \
                TRAP(VM_TRAP_INVALID_CONVERSION);                                                                \
            TRAP(VM_TRAP_INTEGER_OVERFLOW);                                                                      \
        }                                                                                                        \
        SET(i, (result)(magnitude));                                                                             \
        NEXT(4);                                                                                                 \
    }

#define FLOAT_TO_INT_SAT(name, i, j, n3, args) FLOAT_TO_INT_SAT_(name, i, j, UNPACK args)
#define FLOAT_TO_INT_SAT_(...) FLOAT_TO_INT_SAT__(__VA_ARGS__)
#define FLOAT_TO_INT_SAT__(name, i, j, type, result, below, above, magnitude, least, most) \
    HANDLER(name##_##i##_##j##_n)                                                          \
    {                                                                                      \
        type a = GET_FLOAT(type, j);                                                       \
        result value;                                                                      \
        if (a != a)                                                                        \
            value = 0;                                                                     \
        else if (!(a > BITS(type, INTEGER_OF_##type, below)))                              \
            value = (result)least;                                                         \
        else if (!(a < BITS(type, INTEGER_OF_##type, above)))                              \
            value = (result)most;                                                          \
        else                                                                               \
            value = (magnitude);                                                           \
        SET(i, value);                                                                     \
        NEXT(0);                                                                           \
    }

#define REINTERPRET_FLOAT(name, i, j, n3, args) REINTERPRET_FLOAT_(name, i, j, UNPACK args)
#define REINTERPRET_FLOAT_(...) REINTERPRET_FLOAT__(__VA_ARGS__)
#define REINTERPRET_FLOAT__(name, i, j, type)                      \
    HANDLER(name##_##i##_##j##_n)                                  \
    {                                                              \
        SET(i, (type) __builtin_bit_cast(u64, GET_FLOAT(f64, j))); \
        NEXT(0);                                                   \
    }

#define FLOAT_SELECT(name, i, j, k, args) \
    HANDLER(name##_##i##_##j##_##k)       \
    {                                     \
        if (!GET(u32, k))                 \
            f##i = f##j;                  \
        NEXT(0);                          \
    }

#define FLOAT_CONST(name, i, n2, n3, args)    \
    HANDLER(name##_##i##_n_n)                 \
    {                                         \
        f##i = NEW_f64(LOAD_AT(f64, stream)); \
        NEXT(8);                              \
    }
#define FLOAT_COPY(name, i, j, n3, args) \
    HANDLER(name##_##i##_##j##_n)        \
    {                                    \
        f##i = f##j;                     \
        NEXT(0);                         \
    }
#define FLOAT_LOAD_SLOT(name, i, n2, n3, args) \
    HANDLER(name##_##i##_n_n)                  \
    {                                          \
        f##i = NEW_f64(LOAD_AT(f64, SLOT(0))); \
        NEXT(4);                               \
    }
#define FLOAT_STORE_SLOT(name, i, n2, n3, args) \
    HANDLER(name##_##i##_n_n)                   \
    {                                           \
        STORE_AT(f64, SLOT(0), LANE_f64(f##i)); \
        NEXT(4);                                \
    }

#define HANDLERS DEFINE_FAMILY
#include "vm/code/handlers_float.def"
