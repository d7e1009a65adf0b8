/* The call frame information of code that keeps a frame pointer.
 *
 *     offset  .eh_frame                                        .eh_frame_hdr
 *          0  CIE: version 1, "zR", one rule for CFA,          version 1, three encodings
 *             return address and frame pointer                 .eh_frame, from here
 *         24  FDE: code from -align8(size) - 32 from           1 entry: code, FDE
 *             here, size bytes
 *         44  terminator
 *
 * perf places .eh_frame at align8(size) bytes after the code's first byte and .eh_frame_hdr behind it, so every
 * address is a distance that depends on the size only, and the two sections are the same wherever the code stands.
 * The rule holds from the frame's setup to its end; a sample in the first or last instruction loses one caller, which
 * a rule for each of those instructions would mend at the price of knowing them. The aarch64 rule differs in the
 * numbers of two registers only (a CIE that kept x86-64's is python/cpython#136500).
 *
 * Encodings: LSB Core specification, "Exception Frames"; DWARF 5 §6.4.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "jitdump/internal.h"

enum {
#if defined(__x86_64__)
    FRAME_POINTER = 6,   /* rbp */
    RETURN_ADDRESS = 16, /* the column that stands for it */
#elif defined(__aarch64__)
    FRAME_POINTER = 29,  /* x29 */
    RETURN_ADDRESS = 30, /* x30, lr */
#endif
    CFA_NOP = 0x00,
    CFA_DEF_CFA = 0x0c,
    CFA_OFFSET = 0x80,
    PCREL_SDATA4 = 0x1b,
    DATAREL_SDATA4 = 0x3b,
    UDATA4 = 0x03,
    CIE_BYTES = 24,
    FDE_BYTES = 20,
    EH_FRAME_BYTES = CIE_BYTES + FDE_BYTES + 4,
    EH_FRAME_HDR_BYTES = 20,
};
static_assert(EH_FRAME_BYTES + EH_FRAME_HDR_BYTES <= JITDUMP_FRAME_POINTER_BYTES, "room in the caller's buffer");

struct jitdump_unwinding jitdump_unwinding_frame_pointer(size_t size_bytes,
                                                         unsigned char buffer[JITDUMP_FRAME_POINTER_BYTES])
{
    /* From the code's first byte. */
    const int32_t eh_frame_at = (int32_t)((size_bytes + 7) & ~(size_t)7);
    const int32_t eh_frame_hdr_at = eh_frame_at + EH_FRAME_BYTES;
    const struct {
        uint32_t cie_bytes;
        uint32_t cie_id;
        uint8_t cie[16];
        uint32_t fde_bytes;
        uint32_t fde_cie; /* the distance back to the CIE */
        int32_t fde_code;
        uint32_t fde_code_bytes;
        uint8_t fde[4];
        uint32_t terminator;
        uint8_t hdr[4];
        int32_t hdr_eh_frame;
        uint32_t hdr_count;
        int32_t hdr_code;
        int32_t hdr_fde;
    } sections = {
        .cie_bytes = CIE_BYTES - 4,
        .cie = {1, 'z', 'R', 0, 1 /* code alignment */, 0x78 /* data alignment: -8 */, RETURN_ADDRESS,
                1, PCREL_SDATA4, CFA_DEF_CFA, FRAME_POINTER, 16, CFA_OFFSET | RETURN_ADDRESS, 1,
                CFA_OFFSET | FRAME_POINTER, 2},
        .fde_bytes = FDE_BYTES - 4,
        .fde_cie = CIE_BYTES + 4,
        .fde_code = -(eh_frame_at + CIE_BYTES + 8),
        .fde_code_bytes = (uint32_t)size_bytes,
        .fde = {0 /* no augmentation */, CFA_NOP, CFA_NOP, CFA_NOP},
        .hdr = {1, PCREL_SDATA4, UDATA4, DATAREL_SDATA4},
        .hdr_eh_frame = -(EH_FRAME_BYTES + 4),
        .hdr_count = 1,
        .hdr_code = -eh_frame_hdr_at,
        .hdr_fde = -(EH_FRAME_BYTES - CIE_BYTES),
    };
    static_assert(sizeof sections == EH_FRAME_BYTES + EH_FRAME_HDR_BYTES, "no gaps");
    memcpy(buffer, &sections, sizeof sections);
    return (struct jitdump_unwinding){
        .eh_frame = buffer,
        .eh_frame_bytes = EH_FRAME_BYTES,
        .eh_frame_hdr = buffer + EH_FRAME_BYTES,
        .eh_frame_hdr_bytes = EH_FRAME_HDR_BYTES,
    };
}
