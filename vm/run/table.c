/* Tables: an array of pointers, to struct vm_func or whatever the host put behind an externref; null is NULL. Elements
 * take memory at once, and a module may have 100,000 tables, so their number is bounded for the store as a whole. */
#include <string.h>

#include "vm/run/instance.h"
#include "vm/run/objects.h"

struct vm_table *vm_table_create(struct vm_store *store, uint32_t reftype, struct vm_limits elements, struct err *err)
{
    struct vm_table *table = calloc(1, sizeof *table);
    if (table) {
        table->reftype = reftype;
        table->max = elements.max;
        table->store = store;
        table->next = store->tables;
        store->tables = table;
    }
    if (!table || run_table_grow(table, elements.min, NULL) == UINT32_MAX) {
        err_set(err, ERR_RESOURCE, 0, "no memory for a table of %llu elements", (unsigned long long)elements.min);
        return NULL;
    }
    return table;
}

void run_table_destroy(struct vm_table *table)
{
    free(table->elements);
    free(table);
}

uint32_t run_table_grow(struct vm_table *table, uint64_t count, void *element)
{
    uint64_t before = table->count, left = TABLE_MAX_ELEMENTS - table->store->table_elements;
    if (count > left || count > table->max - before)
        return UINT32_MAX;
    if (count) {
        struct vm_func **elements = realloc(table->elements, (before + count) * sizeof *elements);
        if (!elements)
            return UINT32_MAX;
        for (uint64_t i = before; i < before + count; i++)
            elements[i] = element;
        table->elements = elements;
        table->count = before + count;
        table->store->table_elements += count;
    }
    return (uint32_t)before;
}
