/* sort: memory traffic with branches that cannot be predicted: quicksort with its own stack, then a merge sort of the
 * same numbers between two arrays, then a comparison of the two. */
#include "benchmark.h"

const struct benchmark benchmark = {"sort", 42, 0xba7900c83e13ac2e};

enum { COUNT = 40000 };

static uint32_t numbers[COUNT], merged[COUNT], spare[COUNT];

static void quicksort(uint32_t *array, int count)
{
    while (count > 16) {
        uint32_t first = array[0], middle = array[count / 2], last = array[count - 1];
        uint32_t pivot = first < middle ? (middle < last ? middle : first < last ? last : first)
                                        : (first < last ? first : middle < last ? last : middle);
        int i = -1, j = count;
        for (;;) {
            do
                i++;
            while (array[i] < pivot);
            do
                j--;
            while (array[j] > pivot);
            if (i >= j)
                break;
            uint32_t swapped = array[i];
            array[i] = array[j];
            array[j] = swapped;
        }
        quicksort(array, j + 1);
        array += j + 1;
        count -= j + 1;
    }
    for (int i = 1; i < count; i++) {
        uint32_t number = array[i];
        int j = i;
        for (; j > 0 && array[j - 1] > number; j--)
            array[j] = array[j - 1];
        array[j] = number;
    }
}

/* Leaves the sorted numbers in `merged`: the number of passes over COUNT numbers is even. */
static void mergesort_numbers(void)
{
    uint32_t *from = merged, *to = spare;
    for (int width = 1; width < COUNT; width *= 2) {
        for (int begin = 0; begin < COUNT; begin += 2 * width) {
            int middle = begin + width < COUNT ? begin + width : COUNT;
            int end = begin + 2 * width < COUNT ? begin + 2 * width : COUNT;
            int left = begin, right = middle;
            for (int i = begin; i < end; i++)
                to[i] = left < middle && (right >= end || from[left] <= from[right]) ? from[left++] : from[right++];
        }
        uint32_t *swapped = from;
        from = to;
        to = swapped;
    }
}

uint64_t benchmark_run(void)
{
    uint64_t state = 42, sum = 1;
    for (int i = 0; i < COUNT; i++)
        numbers[i] = merged[i] = (uint32_t)(random_next(&state) >> 32);
    quicksort(numbers, COUNT);
    mergesort_numbers();
    for (int i = 0; i < COUNT; i++)
        sum = checksum_u64(sum, numbers[i] == merged[i] ? numbers[i] : 0);
    return sum;
}
