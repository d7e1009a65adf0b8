/* In place of counters/register.h: registers that a test fills. */
#ifndef COUNTERS_REGISTER_H
#define COUNTERS_REGISTER_H

#include <stdbool.h>
#include <stdint.h>

#define READ_INLINE __attribute__((always_inline)) static inline

/* The test's. */
bool counters_register_read(uint32_t number, uint64_t *value);

#endif
