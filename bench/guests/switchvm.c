/* switchvm: an interpreter in the interpreter: a stack machine with a switch in a loop (br_table), which runs a program
 * that counts primes by trial division. */
#include "benchmark.h"

const struct benchmark benchmark = {"switchvm", 190, 0x5b6b69cf6671bcd9};

enum op { PUSH, LOAD, STORE, ADD, MULTIPLY, REMAINDER, LESS, JUMP, JUMP_IF_ZERO, EMIT, HALT };

enum { N, D, COUNT, VARIABLES };
enum { PRIMES_BELOW = 2500 };

/* for (n = 2; n < PRIMES_BELOW; n++) { for (d = 2; d * d <= n; d++) if (n % d == 0) goto next; count++; next: } */
static const int32_t program[] = {
    /*  0 */ PUSH, 2, STORE, N,
    /*  4 */ LOAD, N, PUSH, PRIMES_BELOW, LESS, JUMP_IF_ZERO, 52,
    /* 11 */ PUSH, 2, STORE, D,
    /* 15 */ LOAD, N, LOAD, D, LOAD, D, MULTIPLY, LESS, JUMP_IF_ZERO, 27, JUMP, 41,
    /* 27 */ LOAD, N, LOAD, D, REMAINDER, JUMP_IF_ZERO, 49, LOAD, D, PUSH, 1, JUMP, 55,
    /* 40 */ HALT,
    /* 41 */ LOAD, COUNT, PUSH, 1, ADD, STORE, COUNT, EMIT,
    /* 49 */ JUMP, 60, HALT,
    /* 52 */ LOAD, COUNT, HALT,
    /* 55 */ ADD, STORE, D, JUMP, 15,
    /* 60 */ LOAD, N, PUSH, 1, ADD, STORE, N, JUMP, 4,
};

__attribute__((noinline)) static uint64_t interpret(const int32_t *code, uint64_t sum)
{
    int32_t stack[16], variables[VARIABLES] = {0};
    int32_t *top = stack; /* the next free place */
    const int32_t *at = code;
    for (;;) {
        switch ((enum op)*at++) {
        case PUSH:
            *top++ = *at++;
            break;
        case LOAD:
            *top++ = variables[*at++];
            break;
        case STORE:
            variables[*at++] = *--top;
            break;
        case ADD:
            top--;
            top[-1] += *top;
            break;
        case MULTIPLY:
            top--;
            top[-1] *= *top;
            break;
        case REMAINDER:
            top--;
            top[-1] %= *top;
            break;
        case LESS:
            top--;
            top[-1] = top[-1] < *top;
            break;
        case JUMP:
            at = code + *at;
            break;
        case JUMP_IF_ZERO:
            at = *--top == 0 ? code + *at : at + 1;
            break;
        case EMIT:
            sum = checksum_u64(sum, (uint32_t)variables[N]);
            break;
        case HALT:
            return checksum_u64(sum, (uint32_t)*--top);
        }
    }
}

uint64_t benchmark_run(void)
{
    return interpret(program, 1);
}
