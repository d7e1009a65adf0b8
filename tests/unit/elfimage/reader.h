/* reader: what an image file says, read as other tools read it, with libelf and libdw. */
#ifndef READER_H
#define READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader;

struct reader_symbol {
    const char *name;
    uint64_t value;
    uint64_t size;
};

struct reader_row {
    uint64_t address;
    int line;
    const char *file;
    bool is_end;
};

/* NULL: libelf or libdw does not take it, and says why on standard error. */
struct reader *reader_open(const char *path);
void reader_close(struct reader *reader);

/* Without the null symbol. */
size_t reader_symbol_count(const struct reader *reader);
struct reader_symbol reader_symbol(const struct reader *reader, size_t index);
/* False: there is none. */
bool reader_find(const struct reader *reader, const char *name, struct reader_symbol *symbol);

/* The rows of the unit that .debug_aranges gives for `address`, at most `capacity`; returns how many there are. */
size_t reader_rows(struct reader *reader, uint64_t address, struct reader_row *rows, size_t capacity);

/* Whether every unit of .debug_info has lines and every range of .debug_aranges has a unit. */
bool reader_debug_is_whole(struct reader *reader);

/* Size of a section, or 0. */
uint64_t reader_section_bytes(const struct reader *reader, const char *name);

#endif
