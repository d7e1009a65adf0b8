/* The protocol of the page that perf maps beside an event: how a thread reads its own counter in user space.
 *
 *     | lock | index | offset | ... | pmc_width | ... | capabilities |
 *
 *       lock          odd while the kernel writes the page, another number after
 *       index         1 + the number of the CPU's register that counts; 0: none does at present
 *       offset        to be added to what the register holds, which is a signed number of pmc_width bits
 *
 * The kernel writes the page on the CPU on which the thread runs, while the thread does not run or inside an interrupt.
 * So it is the compiler alone that must be kept from moving the reads, and a sequence that is found changed is read
 * anew at once. Should it never settle, or the page hold what this code does not understand, the answer is false, and
 * the caller asks the kernel by read(2), which is right at any time.
 *
 * `offset` is not an answer where index is 0, as the kernel's documentation has it: software events do not keep it up
 * to date.
 *
 * Registers are read without a barrier: the CPU may count a few instructions of before as after and the reverse, which
 * cancels out over many readings, whereas a serialising instruction costs each of them as much as all the rest.
 */
#ifndef COUNTERS_PAGE_H
#define COUNTERS_PAGE_H

#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "counters/register.h"

#define PAGE_ATTEMPTS 16

READ_INLINE bool counters_page_read(const volatile struct perf_event_mmap_page *page, uint64_t *count)
{
    for (int attempt = 0; attempt < PAGE_ATTEMPTS; attempt++) {
        uint32_t sequence = page->lock;
        atomic_signal_fence(memory_order_seq_cst);
        uint32_t index = page->index;
        uint32_t unused_bits = -(uint32_t)page->pmc_width % 64;
        uint64_t offset = (uint64_t)page->offset;
        uint64_t value;
        if (!page->cap_user_rdpmc || index == 0 || !counters_register_read(index - 1, &value))
            return false;
        atomic_signal_fence(memory_order_seq_cst);
        if (page->lock == sequence && sequence % 2 == 0) {
            *count = offset + (uint64_t)((int64_t)(value << unused_bits) >> unused_bits);
            return true;
        }
    }
    return false;
}

#endif
