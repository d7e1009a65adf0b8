/* The strict reader. One cursor over the bytes; the first thing that is wrong ends the reading with a sentence. */
#include "tests/unit/jitdump/parser.h"

#include <stdlib.h>
#include <string.h>

static uint32_t u32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static uint64_t u64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static const char *parse_header(const uint8_t *at, size_t size, struct dump_header *header)
{
    if (size < 40)
        return "shorter than a header";
    if (u32(at) != 0x4a695444)
        return "wrong magic";
    if (u32(at + 4) != 1)
        return "version is not 1";
    if (u32(at + 8) != 40)
        return "header's total_size is not 40";
    if (u32(at + 16) != 0)
        return "header's padding is not 0";
    if (u64(at + 32) != 0)
        return "flags are not 0";
    *header = (struct dump_header){.elf_mach = u32(at + 12), .pid = u32(at + 20), .timestamp = u64(at + 24)};
    return header->timestamp ? NULL : "header's timestamp is 0";
}

static const char *parse_load(const uint8_t *at, size_t size, struct dump_record *record)
{
    if (size < 57)
        return "LOAD is too short";
    record->pid = u32(at + 16);
    record->tid = u32(at + 20);
    record->vma = u64(at + 24);
    record->code_addr = u64(at + 32);
    record->code_size = u64(at + 40);
    record->code_index = u64(at + 48);
    record->name = (const char *)at + 56;
    size_t name_bytes = strnlen(record->name, size - 56);
    if (56 + name_bytes == size)
        return "LOAD's name does not end";
    if (name_bytes == 0)
        return "LOAD has no name";
    record->code = at + 56 + name_bytes + 1;
    if (record->code_size != size - 56 - name_bytes - 1)
        return "LOAD's code does not end its record";
    return record->vma == record->code_addr ? NULL : "LOAD's vma and code_addr differ";
}

static const char *parse_move(const uint8_t *at, size_t size, struct dump_record *record)
{
    if (size != 64)
        return "MOVE is not 64 bytes";
    record->pid = u32(at + 16);
    record->tid = u32(at + 20);
    record->vma = u64(at + 24);
    record->code_addr = u64(at + 32);
    record->new_code_addr = u64(at + 40);
    record->code_size = u64(at + 48);
    record->code_index = u64(at + 56);
    return record->vma == record->new_code_addr ? NULL : "MOVE's vma and new_code_addr differ";
}

static const char *parse_debug_info(const uint8_t *at, size_t size, struct dump_record *record)
{
    if (size < 32)
        return "DEBUG_INFO is too short";
    record->code_addr = u64(at + 16);
    record->entry_count = u64(at + 24);
    if (record->entry_count < 2 || record->entry_count > sizeof record->entries / sizeof *record->entries)
        return "DEBUG_INFO has no line and end, or more than this reader takes";
    size_t used = 32;
    for (size_t i = 0; i < record->entry_count; i++) {
        if (size - used < 17)
            return "DEBUG_INFO's entries exceed it";
        struct dump_entry *entry = &record->entries[i];
        *entry = (struct dump_entry){u64(at + used), u32(at + used + 8), u32(at + used + 12),
                                     (const char *)at + used + 16};
        size_t file_bytes = strnlen(entry->file, size - used - 16);
        used += 16 + file_bytes + 1;
        if (used > size)
            return "DEBUG_INFO's file name does not end";
        if (file_bytes == 0 || (uint8_t)entry->file[0] == 0xff)
            return "DEBUG_INFO's file name is one that perf does not read";
        if (i && entry->address < entry[-1].address)
            return "DEBUG_INFO's addresses descend";
    }
    return used == size ? NULL : "DEBUG_INFO has bytes after its entries";
}

static const char *parse_unwinding_info(const uint8_t *at, size_t size, struct dump_record *record)
{
    if (size < 40)
        return "UNWINDING_INFO is too short";
    record->unwinding_size = u64(at + 16);
    record->eh_frame_hdr_size = u64(at + 24);
    record->mapped_size = u64(at + 32);
    record->unwinding = at + 40;
    if (record->unwinding_size != size - 40)
        return "UNWINDING_INFO's data is not its rest";
    if (record->eh_frame_hdr_size == 0 || record->eh_frame_hdr_size >= record->unwinding_size)
        return "UNWINDING_INFO has no .eh_frame or no .eh_frame_hdr";
    return record->mapped_size == record->unwinding_size ? NULL : "UNWINDING_INFO maps another size than it has";
}

static const char *parse_record(const uint8_t *at, size_t size, struct dump_record *record)
{
    switch (record->id) {
    case DUMP_LOAD:
        return parse_load(at, size, record);
    case DUMP_MOVE:
        return parse_move(at, size, record);
    case DUMP_DEBUG_INFO:
        return parse_debug_info(at, size, record);
    case DUMP_CLOSE:
        return size == 16 ? NULL : "CLOSE is not 16 bytes";
    case DUMP_UNWINDING_INFO:
        return parse_unwinding_info(at, size, record);
    }
    return "unknown id";
}

/* What must hold between a record and the one before. */
static const char *check_order(const struct dump *dump, const struct dump_record *record)
{
    const struct dump_record *last = dump->count ? record - 1 : NULL;
    if (record->timestamp < (last ? last->timestamp : dump->header.timestamp))
        return "timestamps descend";
    if (!last)
        return NULL;
    if (last->id == DUMP_CLOSE)
        return "a record after CLOSE";
    if (last->id == DUMP_DEBUG_INFO && record->id != DUMP_UNWINDING_INFO && record->id != DUMP_LOAD)
        return "DEBUG_INFO without its LOAD";
    if (last->id == DUMP_UNWINDING_INFO && record->id != DUMP_LOAD)
        return "UNWINDING_INFO without its LOAD";
    if (record->id == DUMP_LOAD)
        for (; last >= dump->records && last->id != DUMP_LOAD && last->id != DUMP_MOVE; last--)
            if (last->id == DUMP_DEBUG_INFO &&
                (last->code_addr != record->code_addr ||
                 last->entries[last->entry_count - 1].address != record->code_addr + record->code_size))
                return "DEBUG_INFO is not that of its LOAD";
    return NULL;
}

static const char *parse_records(const uint8_t *bytes, size_t size_bytes, struct dump *dump)
{
    for (size_t used = 40; used < size_bytes;) {
        if (size_bytes - used < 16)
            return "a cut record prefix";
        size_t size = u32(bytes + used + 4);
        if (size < 16 || size > size_bytes - used)
            return "a record exceeds the file";
        if (dump->count == dump->capacity) {
            dump->capacity = 2 * dump->capacity + 16;
            dump->records = reallocarray(dump->records, dump->capacity, sizeof *dump->records);
            if (!dump->records)
                return "out of memory";
        }
        struct dump_record *record = &dump->records[dump->count];
        *record = (struct dump_record){.id = u32(bytes + used), .timestamp = u64(bytes + used + 8)};
        const char *wrong = parse_record(bytes + used, size, record);
        wrong = wrong ? wrong : check_order(dump, record);
        if (wrong)
            return wrong;
        dump->count++;
        used += size;
    }
    if (dump->count && (dump->records[dump->count - 1].id == DUMP_DEBUG_INFO ||
                        dump->records[dump->count - 1].id == DUMP_UNWINDING_INFO))
        return "the file ends before a LOAD";
    return NULL;
}

const char *dump_parse(const void *bytes, size_t size_bytes, struct dump *dump)
{
    *dump = (struct dump){0};
    const char *wrong = parse_header(bytes, size_bytes, &dump->header);
    wrong = wrong ? wrong : parse_records(bytes, size_bytes, dump);
    if (wrong)
        free(dump->records);
    return wrong;
}
