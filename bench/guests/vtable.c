/* vtable: indirect calls. Objects of several kinds in an order that cannot be predicted, each called through its table.
 */
#include "benchmark.h"

const struct benchmark benchmark = {"vtable", 190, 0xdc472d607fec78cf};

enum { SHAPES = 1024, ROUNDS = 100 };

struct shape {
    const struct shape_ops *ops;
    int32_t a, b;
};

struct shape_ops {
    int32_t (*area)(const struct shape *shape);
    void (*grow)(struct shape *shape, int32_t by);
};

static int32_t square_area(const struct shape *shape)
{
    return shape->a * shape->a;
}

static int32_t rectangle_area(const struct shape *shape)
{
    return shape->a * shape->b;
}

static int32_t triangle_area(const struct shape *shape)
{
    return shape->a * shape->b / 2;
}

static int32_t ellipse_area(const struct shape *shape)
{
    return shape->a * shape->b * 355 / 113;
}

static void grow_square(struct shape *shape, int32_t by)
{
    shape->a = (shape->a + by) & 255;
}

static void grow_both(struct shape *shape, int32_t by)
{
    shape->a = (shape->a + by) & 255;
    shape->b = (shape->b - by) & 255;
}

static const struct shape_ops kinds[] = {
    {square_area, grow_square},
    {rectangle_area, grow_both},
    {triangle_area, grow_both},
    {ellipse_area, grow_both},
};

static struct shape shapes[SHAPES];

uint64_t benchmark_run(void)
{
    uint64_t state = 5, sum = 1;
    for (int i = 0; i < SHAPES; i++) {
        uint64_t bits = random_next(&state);
        shapes[i] = (struct shape){&kinds[bits >> 62], (int32_t)(bits >> 20 & 255), (int32_t)(bits >> 10 & 255)};
    }
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t area = 0;
        for (int i = 0; i < SHAPES; i++) {
            area += (uint32_t)shapes[i].ops->area(&shapes[i]);
            shapes[i].ops->grow(&shapes[i], round);
        }
        sum = checksum_u64(sum, area);
    }
    return sum;
}
