/* The SIGSEGV handler. A fault is a guest's trap where all of this holds: this thread runs a guest, the address lies in
 * what is reserved for one of its store's memories, and the faulting code is a region or a handler. Anything else goes
 * to whoever handled the signal before, so that a crash of the host stays a crash.
 *
 * The handler does as little as can be: it notes where the guest was and makes the thread go on in run_fault when the
 * signal returns. Everything here may run in a signal: no allocation, no locks. The one writable object is the previous
 * action, written before the handler is installed. An embedder that installs its own afterwards takes guests' traps
 * away; each new store puts the handler back in front of it. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

#include "vm/code/engine.h"
#include "vm/code/handlers.h"
#include "vm/run/fault.h"
#include "vm/run/instance.h"
#include "vm/run/objects.h"

/* Initial-exec: other models may allocate at a thread's first access, which the signal handler's can be. */
static _Thread_local struct run_context *current __attribute__((tls_model("initial-exec")));
static struct sigaction previous;
static pthread_mutex_t installing = PTHREAD_MUTEX_INITIALIZER;

struct run_context *run_fault_enter(struct run_context *context)
{
    struct run_context *outer = current;
    current = context;
    return outer;
}

void run_fault_leave(struct run_context *outer)
{
    current = outer;
}

static bool in_memories(const struct vm_store *store, const void *address)
{
    for (const struct vm_memory *memory = store->memories; memory; memory = memory->next)
        if ((uintptr_t)address - (uintptr_t)memory->base < MEMORY_RESERVED_BYTES)
            return true;
    return false;
}

/* Handlers are small and linked together; the linker may put something else between them, which the test of the address
 * makes harmless: nothing else touches a guest's memory outside its bounds. */
#define HANDLER_BYTES_MAX 1024

static bool in_handlers(const void *pc)
{
    for (size_t i = 0; i < CODE_HANDLER_COUNT; i++)
        if ((uintptr_t)pc - (uintptr_t)run_handlers[i] < HANDLER_BYTES_MAX)
            return true;
    return false;
}

#if defined(__x86_64__)
#define PC(u) ((u)->uc_mcontext.gregs[REG_RIP])
#define SP(u) ((u)->uc_mcontext.gregs[REG_RSP])
#define FP(u) ((u)->uc_mcontext.gregs[REG_RBP])
#define STREAM(u) ((u)->uc_mcontext.gregs[REG_R14])
#define FIRST_ARGUMENT(u) ((u)->uc_mcontext.gregs[REG_RDI])
#define RETURN_ADDRESS_BYTES 8 /* what a call leaves on the stack */
#elif defined(__aarch64__)
#define PC(u) ((u)->uc_mcontext.pc)
#define SP(u) ((u)->uc_mcontext.sp)
#define FP(u) ((u)->uc_mcontext.regs[29])
#define STREAM(u) ((u)->uc_mcontext.regs[22])
#define FIRST_ARGUMENT(u) ((u)->uc_mcontext.regs[0])
#define RETURN_ADDRESS_BYTES 0
#endif

/* The red zone, and a stack as a called function finds it. */
static uintptr_t below(uintptr_t sp)
{
    return ((sp - 256) & ~(uintptr_t)15) - RETURN_ADDRESS_BYTES;
}

static void on_fault(int signal, siginfo_t *info, void *user_context)
{
    ucontext_t *user = user_context;
    struct run_context *context = current;
    const void *pc = (const void *)(uintptr_t)PC(user);
    if (context && in_memories(context->store, info->si_addr) &&
        (code_arena_holds(&context->store->engine->arena, pc) || in_handlers(pc))) {
        context->fault_pc = (void *)pc;
        context->fault_stream = (const uint8_t *)(uintptr_t)STREAM(user);
        context->fault_rbp = (void *)(uintptr_t)FP(user);
        PC(user) = (uintptr_t)run_fault;
        SP(user) = below((uintptr_t)SP(user));
        FIRST_ARGUMENT(user) = (uintptr_t)context;
        return;
    }
    if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(signal, info, user_context);
    } else if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
        sigaction(signal, &previous, NULL); /* and fault again, which the kernel lets nobody ignore */
    } else {
        previous.sa_handler(signal);
    }
}

void run_install_fault_handler(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK}, present;
    sigemptyset(&action.sa_mask);
    pthread_mutex_lock(&installing);
    sigaction(SIGSEGV, NULL, &present);
    if (!(present.sa_flags & SA_SIGINFO) || present.sa_sigaction != on_fault) {
        previous = present;
        sigaction(SIGSEGV, &action, NULL);
    }
    pthread_mutex_unlock(&installing);
}
