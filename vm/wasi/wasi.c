/* WASI's front: making and filling a guest process, finding a function for an import, and the calls that are about the
 * process itself.
 *
 *     guest ── call_function ── wasi_fd_write(struct wasi_call *)
 *
 * One table (wasi.def) lists every function with its type. Each host function that the VM sees is the same C function,
 * call_function, bound to one line of the table: it looks the guest's memory up, runs the line's function and stores
 * the error number. So what is common to all calls is written once, and yet a profile shows wasi_fd_write by its name,
 * since that is the function that call_function calls. A macro that wraps each function was the alternative; it hides
 * the control flow and saves one call that a system call dwarfs.
 *
 * proc_raise raises no signal of the host's: an embedder must not die because its guest did. A signal whose default
 * action ends a process ends the guest as a shell would report it, 128 + the signal.
 */
#include "vm/wasi/wasi.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "vm/wasi/internal.h"

static const struct {
    const char *name;
    const char *host_name; /* what perf and backtraces call it */
    const char *params;
    const char *results;
    enum wasi_errno (*run)(struct wasi_call *call);
} functions[] = {
#define WASI(name, params, results) {#name, WASI_MODULE "." #name, params, results, wasi_##name},
#include "vm/wasi/wasi.def"
};

/* ---- the guest process ---- */

struct wasi *wasi_create(struct err *err)
{
    struct wasi *wasi = calloc(1, sizeof *wasi);
    if (!wasi) {
        err_set(err, ERR_RESOURCE, 0, "out of memory for WASI");
        return NULL;
    }
    wasi->args = VEC_INIT(1);
    wasi->env = VEC_INIT(1);
    wasi->fds = VEC_INIT(sizeof(struct wasi_fd));
    for (int i = 0; i < WASI_FUNCTION_COUNT; i++)
        wasi->bindings[i] = (struct wasi_binding){.wasi = wasi, .function = i};

    for (int number = 0; number <= 2; number++) {
        bool is_open = fcntl(number, F_GETFD) >= 0;
        struct wasi_fd *missing = is_open ? NULL : vec_push(&wasi->fds);
        if (missing)
            missing->host = -1;
        else if (wasi_inherit_fd(wasi, number, err) < 0) {
            wasi_destroy(wasi);
            return NULL;
        }
    }
    return wasi;
}

void wasi_destroy(struct wasi *wasi)
{
    if (!wasi)
        return;
    for (size_t i = 0; i < wasi->fds.count; i++)
        wasi_fds_close(vec_at(&wasi->fds, i));
    vec_fini(&wasi->fds);
    vec_fini(&wasi->args);
    vec_fini(&wasi->env);
    free(wasi);
}

static int add_string(struct vec *strings, uint32_t *count, const char *string, struct err *err)
{
    size_t size_bytes = strlen(string) + 1;
    if (size_bytes > UINT32_MAX - strings->count || !vec_append(strings, string, size_bytes))
        return err_set(err, ERR_RESOURCE, 0, "out of memory for the guest's arguments and environment");
    ++*count;
    return 0;
}

int wasi_add_arg(struct wasi *wasi, const char *arg, struct err *err)
{
    return add_string(&wasi->args, &wasi->arg_count, arg, err);
}

int wasi_add_env(struct wasi *wasi, const char *variable, struct err *err)
{
    return add_string(&wasi->env, &wasi->env_count, variable, err);
}

int wasi_preopen_dir(struct wasi *wasi, const char *host_path, const char *guest_path, struct err *err)
{
    int host = open(host_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (host < 0)
        return err_set(err, ERR_RESOURCE, 0, "cannot open the directory %s: %s", host_path, strerror(errno));
    uint32_t number;
    if (wasi_fds_insert(wasi, host, WASI_RIGHTS_DIRECTORY, WASI_RIGHTS_DIRECTORY | WASI_RIGHTS_FILE, &number))
        return err_set(err, ERR_RESOURCE, 0, "cannot give the directory %s to the guest", host_path);
    struct wasi_fd *fd = vec_at(&wasi->fds, number);
    fd->preopen = strdup(guest_path);
    if (!fd->preopen) {
        wasi_fds_close(fd);
        return err_set(err, ERR_RESOURCE, 0, "out of memory for the directory %s", host_path);
    }
    return 0;
}

int wasi_inherit_fd(struct wasi *wasi, int host_fd, struct err *err)
{
    int host = fcntl(host_fd, F_DUPFD_CLOEXEC, 3);
    if (host < 0)
        return err_set(err, ERR_RESOURCE, 0, "cannot duplicate descriptor %d: %s", host_fd, strerror(errno));
    uint32_t number;
    if (wasi_fds_insert(wasi, host, WASI_RIGHTS_SOCKET, WASI_RIGHTS_SOCKET, &number))
        return err_set(err, ERR_RESOURCE, 0, "cannot give descriptor %d to the guest", host_fd);
    ((struct wasi_fd *)vec_at(&wasi->fds, number))->restore_flags = fcntl(host, F_GETFL);
    return 0;
}

/* ---- the functions ---- */

static bool call_function(void *user, struct vm_instance *caller, union vm_slot *slots, struct vm_trap *trap)
{
    const struct wasi_binding *binding = user;
    struct vm_memory *memory = caller ? vm_instance_memory(caller) : NULL;
    struct wasi_call call = {
        .wasi = binding->wasi,
        .memory = memory ? vm_memory_data(memory) : NULL,
        .memory_bytes = memory ? vm_memory_size_bytes(memory) : 0,
        .args = slots,
    };
    enum wasi_errno error = functions[binding->function].run(&call);
    if (call.exits) {
        trap->kind = VM_TRAP_EXIT;
        trap->exit_status = call.exit_status;
        return false;
    }
    slots[0].i64 = error;
    return true;
}

static bool types_are(const uint32_t *types, uint32_t count, const char *letters)
{
    if (count != strlen(letters))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (types[i] != (letters[i] == 'i' ? VM_I32 : VM_I64))
            return false;
    }
    return true;
}

/* The name comes from the module: what is not plain text in it must not reach a terminal. */
static void report_unknown(const char *name, size_t name_bytes, struct err *err)
{
    char printable[64];
    size_t length = 0;
    for (; length < name_bytes && length < sizeof printable - 1; length++)
        printable[length] = name[length] > ' ' && name[length] < 0x7f ? name[length] : '?';
    printable[length] = 0;
    err_set(err, ERR_UNLINKABLE, 0, WASI_MODULE " has no function %s", printable);
}

struct vm_func *wasi_func(struct wasi *wasi, struct vm_store *store, const char *name, size_t name_bytes,
                          const struct vm_functype *type, struct err *err)
{
    int index = 0;
    while (index < WASI_FUNCTION_COUNT &&
           (strlen(functions[index].name) != name_bytes || memcmp(functions[index].name, name, name_bytes) != 0))
        index++;
    if (index == WASI_FUNCTION_COUNT) {
        report_unknown(name, name_bytes, err);
        return NULL;
    }
    if (!types_are(type->params, type->param_count, functions[index].params) ||
        !types_are(type->results, type->result_count, functions[index].results)) {
        err_set(err, ERR_UNLINKABLE, 0, "%s is imported with another type than it has", functions[index].host_name);
        return NULL;
    }
    struct vm_func *func =
        vm_func_create(store, type, functions[index].host_name, call_function, &wasi->bindings[index]);
    if (!func)
        err_set(err, ERR_RESOURCE, 0, "out of memory for %s", functions[index].host_name);
    return func;
}

/* ---- arguments and environment ---- */

static enum wasi_errno strings_sizes(struct wasi_call *call, uint32_t count, const struct vec *strings)
{
    uint32_t size_bytes = (uint32_t)strings->count;
    void *count_out = wasi_guest_range(call, call->args[0].i32, sizeof count);
    void *size_out = wasi_guest_range(call, call->args[1].i32, sizeof size_bytes);
    if (!count_out || !size_out)
        return WASI_EFAULT;
    memcpy(count_out, &count, sizeof count);
    memcpy(size_out, &size_bytes, sizeof size_bytes);
    return WASI_SUCCESS;
}

/* args[0]: an array of `count` addresses to fill; args[1]: where the strings themselves go. */
static enum wasi_errno strings_get(struct wasi_call *call, uint32_t count, const struct vec *strings)
{
    uint32_t address = call->args[1].i32;
    uint8_t *addresses = wasi_guest_range(call, call->args[0].i32, (uint64_t)count * sizeof address);
    uint8_t *bytes = wasi_guest_range(call, address, strings->count);
    if (!addresses || !bytes)
        return WASI_EFAULT;
    const char *string = strings->data;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size_bytes = (uint32_t)strlen(string) + 1;
        memcpy(addresses + i * sizeof address, &address, sizeof address);
        memcpy(bytes, string, size_bytes);
        address += size_bytes;
        bytes += size_bytes;
        string += size_bytes;
    }
    return WASI_SUCCESS;
}

enum wasi_errno wasi_args_get(struct wasi_call *call)
{
    return strings_get(call, call->wasi->arg_count, &call->wasi->args);
}

enum wasi_errno wasi_args_sizes_get(struct wasi_call *call)
{
    return strings_sizes(call, call->wasi->arg_count, &call->wasi->args);
}

enum wasi_errno wasi_environ_get(struct wasi_call *call)
{
    return strings_get(call, call->wasi->env_count, &call->wasi->env);
}

enum wasi_errno wasi_environ_sizes_get(struct wasi_call *call)
{
    return strings_sizes(call, call->wasi->env_count, &call->wasi->env);
}

/* ---- the process ---- */

enum wasi_errno wasi_proc_exit(struct wasi_call *call)
{
    call->exits = true;
    call->exit_status = (int32_t)call->args[0].i32;
    return WASI_SUCCESS;
}

enum wasi_errno wasi_proc_raise(struct wasi_call *call)
{
    uint32_t signal = call->args[0].i32;
    if (signal > WASI_SIGNAL_SYS)
        return WASI_EINVAL;
    switch (signal) {
    case WASI_SIGNAL_NONE:
    case WASI_SIGNAL_CHLD:
    case WASI_SIGNAL_CONT:
    case WASI_SIGNAL_URG:
    case WASI_SIGNAL_WINCH:
        return WASI_SUCCESS;
    case WASI_SIGNAL_STOP:
    case WASI_SIGNAL_TSTP:
    case WASI_SIGNAL_TTIN:
    case WASI_SIGNAL_TTOU:
        return WASI_ENOTSUP;
    default:
        call->exits = true;
        call->exit_status = 128 + (int32_t)signal;
        return WASI_SUCCESS;
    }
}

enum wasi_errno wasi_sched_yield(struct wasi_call *call)
{
    return wasi_errno_of(sched_yield());
}

enum wasi_errno wasi_random_get(struct wasi_call *call)
{
    uint64_t left = call->args[1].i32;
    uint8_t *out = wasi_guest_range(call, call->args[0].i32, left);
    if (!out)
        return WASI_EFAULT;
    while (left) { /* getrandom gives at most 32 MiB at once */
        ssize_t got = getrandom(out, left, 0);
        if (got < 0 && errno != EINTR)
            return wasi_errno_from_host(errno);
        if (got > 0) {
            out += got;
            left -= (uint64_t)got;
        }
    }
    return WASI_SUCCESS;
}
