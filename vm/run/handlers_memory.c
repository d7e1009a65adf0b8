/* Handlers for linear memory and globals: the definitions that vm/code/handlers_memory.def names.
 *
 * There is no bounds check: a 32-bit address plus a 32-bit offset cannot leave the 8 GiB that memory.c reserves, and
 * what is not memory there faults. The zero extension of the address is what this rests on, so it is written here at
 * every access and not assumed of the register. */
#include "vm/run/handler.h"

#define UNPACK(...) __VA_ARGS__
#define ADDRESS(kind, at) (memory + (u64)GET(u32, kind) + U32(at))

#define LOAD(name, i, j, n3, args) LOAD_(name, i, j, UNPACK args)
#define LOAD_(...) LOAD__(__VA_ARGS__)
#define LOAD__(name, i, j, result, type)                     \
    HANDLER(name##_##i##_##j##_n)                            \
    {                                                        \
        SET(i, (result)LOAD_AT(type, ADDRESS(j, BYTES(j)))); \
        NEXT(BYTES(j) + 4);                                  \
    }

/* The address operand comes first in the stream, then the offset, then an immediate value. */
#define STORE(name, i, j, n3, args) STORE_(name, i, j, UNPACK args)
#define STORE_(...) STORE__(__VA_ARGS__)
#define STORE__(name, i, j, type)                                            \
    HANDLER(name##_##i##_##j##_n)                                            \
    {                                                                        \
        STORE_AT(type, ADDRESS(i, BYTES(i)), VALUE_##j(type, BYTES(i) + 4)); \
        NEXT(BYTES(i) + 4 + BYTES(j));                                       \
    }
#define VALUE_0(type, at) GET(type, 0)
#define VALUE_1(type, at) GET(type, 1)
#define VALUE_2(type, at) GET(type, 2)
#define VALUE_3(type, at) GET(type, 3)
#define VALUE_4(type, at) GET(type, 4)
#define VALUE_I(type, at) ((type)(i64)LOAD_AT(i32, stream + (at)))

#define FLOAT_LOAD(name, i, j, n3, args) FLOAT_LOAD_(name, i, j, UNPACK args)
#define FLOAT_LOAD_(...) FLOAT_LOAD__(__VA_ARGS__)
#define FLOAT_LOAD__(name, i, j, type)                          \
    HANDLER(name##_##i##_##j##_n)                               \
    {                                                           \
        f##i = NEW_##type(LOAD_AT(type, ADDRESS(j, BYTES(j)))); \
        NEXT(BYTES(j) + 4);                                     \
    }

#define FLOAT_STORE(name, i, j, n3, args) FLOAT_STORE_(name, i, j, UNPACK args)
#define FLOAT_STORE_(...) FLOAT_STORE__(__VA_ARGS__)
#define FLOAT_STORE__(name, i, j, type)                          \
    HANDLER(name##_##i##_##j##_n)                                \
    {                                                            \
        STORE_AT(type, ADDRESS(i, BYTES(i)), LANE_##type(f##j)); \
        NEXT(BYTES(i) + 4);                                      \
    }

#define CELL ((uint8_t *)instance + U32(0))
#define IMPORTED_CELL LOAD_AT(uint8_t *, CELL)

#define GLOBAL_GET(name, i, n2, n3, args) \
    HANDLER(name##_##i##_n_n)             \
    {                                     \
        SET(i, LOAD_AT(u64, CELL));       \
        NEXT(4);                          \
    }
#define GLOBAL_SET(name, i, n2, n3, args) \
    HANDLER(name##_##i##_n_n)             \
    {                                     \
        STORE_AT(u64, CELL, GET(u64, i)); \
        NEXT(4);                          \
    }
#define GLOBAL_GET_IMPORT(name, i, n2, n3, args) \
    HANDLER(name##_##i##_n_n)                    \
    {                                            \
        SET(i, LOAD_AT(u64, IMPORTED_CELL));     \
        NEXT(4);                                 \
    }
#define GLOBAL_SET_IMPORT(name, i, n2, n3, args)   \
    HANDLER(name##_##i##_n_n)                      \
    {                                              \
        STORE_AT(u64, IMPORTED_CELL, GET(u64, i)); \
        NEXT(4);                                   \
    }
#define FLOAT_GLOBAL_GET(name, i, n2, n3, args) \
    HANDLER(name##_##i##_n_n)                   \
    {                                           \
        f##i = NEW_f64(LOAD_AT(f64, CELL));     \
        NEXT(4);                                \
    }
#define FLOAT_GLOBAL_SET(name, i, n2, n3, args) \
    HANDLER(name##_##i##_n_n)                   \
    {                                           \
        STORE_AT(f64, CELL, LANE_f64(f##i));    \
        NEXT(4);                                \
    }
#define FLOAT_GLOBAL_GET_IMPORT(name, i, n2, n3, args) \
    HANDLER(name##_##i##_n_n)                          \
    {                                                  \
        f##i = NEW_f64(LOAD_AT(f64, IMPORTED_CELL));   \
        NEXT(4);                                       \
    }
#define FLOAT_GLOBAL_SET_IMPORT(name, i, n2, n3, args) \
    HANDLER(name##_##i##_n_n)                          \
    {                                                  \
        STORE_AT(f64, IMPORTED_CELL, LANE_f64(f##i));  \
        NEXT(4);                                       \
    }

#define HANDLERS DEFINE_FAMILY
#include "vm/code/handlers_memory.def"
