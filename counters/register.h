/* How user space reads a counting register of the CPU. False: this one it cannot.
 *
 * Only to be called while a page says that it may be (page.h): else the CPU raises a fault. A header of its own, so
 * that a test can have other registers.
 */
#ifndef COUNTERS_REGISTER_H
#define COUNTERS_REGISTER_H

#include <stdbool.h>
#include <stdint.h>

/* What a reading costs is charged to what is measured. */
#define READ_INLINE __attribute__((always_inline)) static inline

#if defined(__x86_64__)

READ_INLINE bool counters_register_read(uint32_t number, uint64_t *value)
{
    uint32_t low, high;
    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(number));
    *value = (uint64_t)high << 32 | low;
    return true;
}

#elif defined(__aarch64__)

/* The number of a register is part of the instruction that reads it. */
#define READ_PMEVCNTR(n) \
    case n: __asm__ volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(*value)); return true;

READ_INLINE bool counters_register_read(uint32_t number, uint64_t *value)
{
    switch (number) {
        READ_PMEVCNTR(0)
        READ_PMEVCNTR(1)
        READ_PMEVCNTR(2)
        READ_PMEVCNTR(3)
        READ_PMEVCNTR(4)
        READ_PMEVCNTR(5)
        READ_PMEVCNTR(6)
        READ_PMEVCNTR(7)
        READ_PMEVCNTR(8)
        READ_PMEVCNTR(9)
        READ_PMEVCNTR(10)
        READ_PMEVCNTR(11)
        READ_PMEVCNTR(12)
        READ_PMEVCNTR(13)
        READ_PMEVCNTR(14)
        READ_PMEVCNTR(15)
        READ_PMEVCNTR(16)
        READ_PMEVCNTR(17)
        READ_PMEVCNTR(18)
        READ_PMEVCNTR(19)
        READ_PMEVCNTR(20)
        READ_PMEVCNTR(21)
        READ_PMEVCNTR(22)
        READ_PMEVCNTR(23)
        READ_PMEVCNTR(24)
        READ_PMEVCNTR(25)
        READ_PMEVCNTR(26)
        READ_PMEVCNTR(27)
        READ_PMEVCNTR(28)
        READ_PMEVCNTR(29)
        READ_PMEVCNTR(30)
    case 31: __asm__ volatile("mrs %0, pmccntr_el0" : "=r"(*value)); return true;
    default: return false;
    }
}

#else

READ_INLINE bool counters_register_read(uint32_t number, uint64_t *value)
{
    return false;
}

#endif

#endif
