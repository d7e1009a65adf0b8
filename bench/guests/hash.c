/* hash: a hash table with open addressing, and i64 arithmetic: insert, look up, delete, in an order that caches
 * dislike. */
#include "benchmark.h"

const struct benchmark benchmark = {"hash", 310, 0xa1f4ed07f36ebec9};

enum { SLOTS = 1 << 15, KEYS = 20000 };

struct slot {
    uint64_t key; /* 0: free */
    uint64_t value;
};

static struct slot slots[SLOTS];

static uint32_t hash_key(uint64_t key)
{
    key = (key ^ key >> 33) * 0xff51afd7ed558ccdu;
    key = (key ^ key >> 33) * 0xc4ceb9fe1a85ec53u;
    return (uint32_t)(key ^ key >> 33) & (SLOTS - 1);
}

/* The key's slot, or the free one where it would go. */
static struct slot *find(uint64_t key)
{
    uint32_t at = hash_key(key);
    while (slots[at].key && slots[at].key != key)
        at = (at + 1) & (SLOTS - 1);
    return &slots[at];
}

/* Moves later slots of the chain up, so that none becomes unreachable. */
static void delete_key(uint64_t key)
{
    struct slot *found = find(key);
    if (!found->key)
        return;
    uint32_t hole = (uint32_t)(found - slots), at = hole;
    slots[hole] = (struct slot){0, 0};
    for (;;) {
        at = (at + 1) & (SLOTS - 1);
        if (!slots[at].key)
            return;
        uint32_t home = hash_key(slots[at].key);
        if (((at - home) & (SLOTS - 1)) >= ((at - hole) & (SLOTS - 1))) {
            slots[hole] = slots[at];
            slots[at] = (struct slot){0, 0};
            hole = at;
        }
    }
}

uint64_t benchmark_run(void)
{
    memset(slots, 0, sizeof slots);
    uint64_t sum = 1, state = 11;
    for (uint64_t i = 0; i < KEYS; i++) {
        struct slot *slot = find(random_next(&state) | 1);
        slot->key = slot->key ? slot->key : state * 0x2545f4914f6cdd1du | 1;
        slot->value += i;
    }
    state = 11;
    for (uint64_t i = 0; i < KEYS; i++) {
        uint64_t key = random_next(&state) | 1;
        sum = checksum_u64(sum, find(key)->value);
        if (i % 3 == 0)
            delete_key(key);
    }
    state = 11;
    for (uint64_t i = 0; i < KEYS; i++)
        sum = checksum_u64(sum, find(random_next(&state) | 1)->value);
    return sum;
}
