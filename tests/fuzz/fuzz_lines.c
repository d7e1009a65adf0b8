/* fuzz_lines: profile/lines.c, and libdw below it, on any DWARF. The input is a module; the sections and functions in
 * it are found by the tests' own reader, not by the VM's, which would refuse most of what a fuzzer makes before any
 * DWARF is read. */
#include <stdlib.h>

#include "profile/lines.h"
#include "tests/unit/profile/module_double.c"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct vm_module module = double_of_bytes("fuzz", bytes, size_bytes);
    struct profile_lines *lines;
    struct err err = {0};
    if (profile_lines_create(&module, &lines, &err) == 0) {
        size_t total = 0;
        for (uint32_t at = 0; at < size_bytes; at++) {
            const char *file;
            uint32_t line;
            if (profile_lines_find(lines, at, &file, &line))
                total += strlen(file) + line;
        }
        static volatile size_t sink;
        sink = total;
        profile_lines_destroy(lines);
    }
    double_fini(&module);
    return 0;
}
