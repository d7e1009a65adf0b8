/* Growth doubles, so n pushes cost O(n). An element size set once at initialisation keeps the code free of macros that
 * generate types; the cast at the call site is the price. */
#include "base/vec.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *vec_append(struct vec *vec, const void *source, size_t count)
{
    /* Also for nothing appended to nothing: NULL means failure. */
    if (!vec->data || count > vec->capacity - vec->count) {
        size_t capacity = vec->capacity ? vec->capacity : 8;
        while (capacity - vec->count < count) {
            if (capacity > SIZE_MAX / 2 / vec->element_bytes)
                return NULL;
            capacity *= 2;
        }
        void *data = realloc(vec->data, capacity * vec->element_bytes);
        if (!data)
            return NULL;
        vec->data = data;
        vec->capacity = capacity;
    }
    void *first = vec_at(vec, vec->count);
    if (source)
        memcpy(first, source, count * vec->element_bytes);
    else
        memset(first, 0, count * vec->element_bytes);
    vec->count += count;
    return first;
}

void *vec_push(struct vec *vec)
{
    return vec_append(vec, NULL, 1);
}

void *vec_take(struct vec *vec)
{
    void *data = vec->data;
    vec->data = NULL;
    vec->count = vec->capacity = 0;
    return data;
}

void vec_fini(struct vec *vec)
{
    free(vec_take(vec));
}
