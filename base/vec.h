/* vec: a growing array of one element type.
 *
 *     struct vec lines = VEC_INIT(sizeof(struct line));
 *     struct line *line = vec_push(&lines);      // NULL: out of memory, the array as it was
 *     for (size_t i = 0; i < lines.count; i++) use(vec_at(&lines, i));
 *     vec_fini(&lines);
 *
 * Pointers into the array are good until the next push. Not thread-safe.
 */
#ifndef GLASSBOX_BASE_VEC_H
#define GLASSBOX_BASE_VEC_H

#include <stddef.h>

struct vec {
    void *data;
    size_t count;
    size_t capacity;
    size_t element_bytes;
};

#define VEC_INIT(bytes) ((struct vec){.element_bytes = (bytes)})

/* Appends one zeroed element and returns it, or NULL where memory is exhausted. */
void *vec_push(struct vec *vec);

/* Appends `count` elements copied from `source` (zeroed where NULL). Returns the first, or NULL. */
void *vec_append(struct vec *vec, const void *source, size_t count);

static inline void *vec_at(const struct vec *vec, size_t index)
{
    return (char *)vec->data + index * vec->element_bytes;
}

/* Gives the memory to the caller, who frees it with free(); the vec is empty afterwards. */
void *vec_take(struct vec *vec);

void vec_fini(struct vec *vec);

#endif
