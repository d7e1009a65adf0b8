/* abi: snapshot_preview1 as bytes: its numbers, and its structures as they lie in the guest's memory (little-endian,
 * with the padding shown). They are copied in and out as a whole; nothing here is ever a pointer into the guest.
 */
#ifndef GLASSBOX_VM_WASI_ABI_H
#define GLASSBOX_VM_WASI_ABI_H

#include <assert.h>
#include <stdint.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the structures below are the guest's byte for byte");

enum wasi_errno {
    WASI_SUCCESS = 0,
#define ERRNO(name, number, host) WASI_E##name = number,
#include "vm/wasi/errno.def"
    WASI_ENOTCAPABLE = 76,
};

#define WASI_RIGHT(bit) (UINT64_C(1) << (bit))

#define WASI_RIGHT_FD_DATASYNC WASI_RIGHT(0)
#define WASI_RIGHT_FD_READ WASI_RIGHT(1)
#define WASI_RIGHT_FD_SEEK WASI_RIGHT(2)
#define WASI_RIGHT_FD_FDSTAT_SET_FLAGS WASI_RIGHT(3)
#define WASI_RIGHT_FD_SYNC WASI_RIGHT(4)
#define WASI_RIGHT_FD_TELL WASI_RIGHT(5)
#define WASI_RIGHT_FD_WRITE WASI_RIGHT(6)
#define WASI_RIGHT_FD_ADVISE WASI_RIGHT(7)
#define WASI_RIGHT_FD_ALLOCATE WASI_RIGHT(8)
#define WASI_RIGHT_PATH_CREATE_DIRECTORY WASI_RIGHT(9)
#define WASI_RIGHT_PATH_CREATE_FILE WASI_RIGHT(10)
#define WASI_RIGHT_PATH_LINK_SOURCE WASI_RIGHT(11)
#define WASI_RIGHT_PATH_LINK_TARGET WASI_RIGHT(12)
#define WASI_RIGHT_PATH_OPEN WASI_RIGHT(13)
#define WASI_RIGHT_FD_READDIR WASI_RIGHT(14)
#define WASI_RIGHT_PATH_READLINK WASI_RIGHT(15)
#define WASI_RIGHT_PATH_RENAME_SOURCE WASI_RIGHT(16)
#define WASI_RIGHT_PATH_RENAME_TARGET WASI_RIGHT(17)
#define WASI_RIGHT_PATH_FILESTAT_GET WASI_RIGHT(18)
#define WASI_RIGHT_PATH_FILESTAT_SET_SIZE WASI_RIGHT(19)
#define WASI_RIGHT_PATH_FILESTAT_SET_TIMES WASI_RIGHT(20)
#define WASI_RIGHT_FD_FILESTAT_GET WASI_RIGHT(21)
#define WASI_RIGHT_FD_FILESTAT_SET_SIZE WASI_RIGHT(22)
#define WASI_RIGHT_FD_FILESTAT_SET_TIMES WASI_RIGHT(23)
#define WASI_RIGHT_PATH_SYMLINK WASI_RIGHT(24)
#define WASI_RIGHT_PATH_REMOVE_DIRECTORY WASI_RIGHT(25)
#define WASI_RIGHT_PATH_UNLINK_FILE WASI_RIGHT(26)
#define WASI_RIGHT_POLL_FD_READWRITE WASI_RIGHT(27)
#define WASI_RIGHT_SOCK_SHUTDOWN WASI_RIGHT(28)
#define WASI_RIGHT_SOCK_ACCEPT WASI_RIGHT(29)

enum wasi_filetype {
    WASI_FILETYPE_UNKNOWN,
    WASI_FILETYPE_BLOCK_DEVICE,
    WASI_FILETYPE_CHARACTER_DEVICE,
    WASI_FILETYPE_DIRECTORY,
    WASI_FILETYPE_REGULAR_FILE,
    WASI_FILETYPE_SOCKET_DGRAM,
    WASI_FILETYPE_SOCKET_STREAM,
    WASI_FILETYPE_SYMBOLIC_LINK,
};

enum wasi_clockid {
    WASI_CLOCK_REALTIME,
    WASI_CLOCK_MONOTONIC,
    WASI_CLOCK_PROCESS_CPUTIME,
    WASI_CLOCK_THREAD_CPUTIME,
};

enum wasi_whence { WASI_WHENCE_SET, WASI_WHENCE_CUR, WASI_WHENCE_END };

enum wasi_fdflags {
    WASI_FDFLAG_APPEND = 1 << 0,
    WASI_FDFLAG_DSYNC = 1 << 1,
    WASI_FDFLAG_NONBLOCK = 1 << 2,
    WASI_FDFLAG_RSYNC = 1 << 3,
    WASI_FDFLAG_SYNC = 1 << 4,
    WASI_FDFLAG_ALL = (1 << 5) - 1,
};

enum wasi_oflags {
    WASI_OFLAG_CREAT = 1 << 0,
    WASI_OFLAG_DIRECTORY = 1 << 1,
    WASI_OFLAG_EXCL = 1 << 2,
    WASI_OFLAG_TRUNC = 1 << 3,
    WASI_OFLAG_ALL = (1 << 4) - 1,
};

enum wasi_lookupflags { WASI_LOOKUP_SYMLINK_FOLLOW = 1 << 0 };

enum wasi_fstflags {
    WASI_FST_ATIM = 1 << 0,
    WASI_FST_ATIM_NOW = 1 << 1,
    WASI_FST_MTIM = 1 << 2,
    WASI_FST_MTIM_NOW = 1 << 3,
    WASI_FST_ALL = (1 << 4) - 1,
};

enum wasi_riflags { WASI_RECV_PEEK = 1 << 0, WASI_RECV_WAITALL = 1 << 1 };
enum wasi_roflags { WASI_RECV_DATA_TRUNCATED = 1 << 0 };
enum wasi_sdflags { WASI_SHUT_RD = 1 << 0, WASI_SHUT_WR = 1 << 1 };

enum wasi_eventtype { WASI_EVENT_CLOCK, WASI_EVENT_FD_READ, WASI_EVENT_FD_WRITE };
enum wasi_subclockflags { WASI_SUBCLOCK_ABSTIME = 1 << 0 };
enum wasi_eventrwflags { WASI_EVENT_HANGUP = 1 << 0 };

enum wasi_signal {
    WASI_SIGNAL_NONE = 0,
    WASI_SIGNAL_CHLD = 16,
    WASI_SIGNAL_CONT = 17,
    WASI_SIGNAL_STOP = 18,
    WASI_SIGNAL_TSTP = 19,
    WASI_SIGNAL_TTIN = 20,
    WASI_SIGNAL_TTOU = 21,
    WASI_SIGNAL_URG = 22,
    WASI_SIGNAL_WINCH = 27,
    WASI_SIGNAL_SYS = 30, /* the last */
};

/* iovec and ciovec     0 buf u32 | 4 buf_len u32 | 8 */
struct wasi_abi_iovec {
    uint32_t buf;
    uint32_t buf_len;
};
static_assert(sizeof(struct wasi_abi_iovec) == 8, "iovec");

/* fdstat     0 filetype u8 | 1 - | 2 flags u16 | 4 - | 8 rights_base u64 | 16 rights_inheriting u64 | 24 */
struct wasi_abi_fdstat {
    uint8_t filetype;
    uint8_t padding_1;
    uint16_t flags;
    uint32_t padding_4;
    uint64_t rights_base;
    uint64_t rights_inheriting;
};
static_assert(sizeof(struct wasi_abi_fdstat) == 24, "fdstat");

/* filestat     0 dev u64 | 8 ino u64 | 16 filetype u8 | 17 - | 24 nlink u64 | 32 size u64 | 40 atim u64 | 48 mtim u64
 *             56 ctim u64 | 64      times in ns since 1970 */
struct wasi_abi_filestat {
    uint64_t dev;
    uint64_t ino;
    uint64_t filetype; /* u8, and zeroed padding */
    uint64_t nlink;
    uint64_t size;
    uint64_t atim;
    uint64_t mtim;
    uint64_t ctim;
};
static_assert(sizeof(struct wasi_abi_filestat) == 64, "filestat");

/* dirent     0 d_next u64 | 8 d_ino u64 | 16 d_namlen u32 | 20 d_type u8 | 21 - | 24, then the name without a NUL */
struct wasi_abi_dirent {
    uint64_t d_next;
    uint64_t d_ino;
    uint32_t d_namlen;
    uint32_t d_type; /* u8, and zeroed padding */
};
static_assert(sizeof(struct wasi_abi_dirent) == 24, "dirent");

/* prestat     0 tag u8, 0 for a directory | 1 - | 4 name_len u32 | 8 */
struct wasi_abi_prestat {
    uint32_t tag;
    uint32_t name_len;
};
static_assert(sizeof(struct wasi_abi_prestat) == 8, "prestat");

/* subscription     0 userdata u64 | 8 tag u8 | 9 - | 16 union | 48
 *   clock         16 id u32 | 20 - | 24 timeout u64 | 32 precision u64 | 40 flags u16 | 42 - | 48
 *   fd_read/write 16 fd u32 | 20 - | 48 */
struct wasi_abi_subscription {
    uint64_t userdata;
    uint8_t tag;
    uint8_t padding_9[7];
    uint32_t clockid_or_fd;
    uint32_t padding_20;
    uint64_t timeout_ns;
    uint64_t precision_ns;
    uint16_t flags;
    uint8_t padding_42[6];
};
static_assert(sizeof(struct wasi_abi_subscription) == 48, "subscription");

/* event     0 userdata u64 | 8 error u16 | 10 type u8 | 11 - | 16 nbytes u64 | 24 flags u16 | 26 - | 32 */
struct wasi_abi_event {
    uint64_t userdata;
    uint16_t error;
    uint8_t type;
    uint8_t padding_11[5];
    uint64_t nbytes;
    uint16_t flags;
    uint8_t padding_26[6];
};
static_assert(sizeof(struct wasi_abi_event) == 32, "event");

#endif
