#define _GNU_SOURCE
#include "CRuntimeHooks.h"
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

static _Thread_local void *current;
static simulation_callbacks callbacks;
static _Atomic uint64_t foreign;

void simulation_install(simulation_callbacks given) { callbacks = given; }
void simulation_enter(void *simulator) { current = simulator; }
void *simulation_current(void) { return current; }
uint64_t simulation_foreign_count(void) { return atomic_load(&foreign); }
void simulation_count_foreign(void) { atomic_fetch_add_explicit(&foreign, 1, memory_order_relaxed); }

// MARK: Jobs. No header of the toolchain declares these functions, nor where a job keeps its flags and its number: two words of the
// heap object, two of the scheduler's, then four bytes each.

#define SWIFT_CC __attribute__((swiftcall))
typedef struct { const void *identity, *implementation; } executor_reference;
extern SWIFT_CC void swift_job_run_on_task_executor(const void *job, executor_reference executor);
extern void *swift_retain(void *);
extern void swift_release(void *);
extern size_t swift_retainCount(void *);

void simulation_accept(const void *job, int64_t delay) {
    uint32_t words[2];
    memcpy(words, (const char *)job + 4 * sizeof(void *), sizeof words);
    simulated_job description = {
        .job = job, .kind = words[0] & 0xff, .is_child = words[0] >> 24 & 1, .number = words[1], .delay = delay,
    };
    callbacks.enqueue(current, description);
}

void simulation_run(const void *job, const void *executor, const void *witness_table) {
    swift_job_run_on_task_executor(job, (executor_reference){executor, witness_table});
}

void simulation_retain(const void *task) { swift_retain((void *)task); }
void simulation_release(const void *task) { swift_release((void *)task); }
unsigned long simulation_retain_count(const void *task) { return swift_retainCount((void *)task); }

// MARK: Time and chance. A definition in the program comes before those of the libraries, so that `ContinuousClock`, `Date` and
// `SystemRandomNumberGenerator` give a thread with a simulator what the simulator says, and all other threads what they always do.

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!current) {
        static _Atomic(int (*)(clockid_t, struct timespec *)) platform;
        int (*function)(clockid_t, struct timespec *) = atomic_load(&platform);
        if (!function) atomic_store(&platform, function = dlsym(RTLD_NEXT, "clock_gettime"));
        return function(clock, time);
    }
    int64_t now = callbacks.time(current, clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE);
    time->tv_sec = now / 1000000000;
    time->tv_nsec = now % 1000000000;
    return 0;
}

static void fill(unsigned char *bytes, size_t count, bool is_nonce) {
    for (size_t index = 0; index < count; index += 8) {
        uint64_t word = callbacks.random(current, is_nonce);
        memcpy(bytes + index, &word, count - index < 8 ? count - index : 8);
    }
}

// Swift's generator of random numbers asks the kernel by this function.
long syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long values[6];
    for (int index = 0; index < 6; index++) values[index] = va_arg(list, long);
    va_end(list);
    if (!current || number != SYS_getrandom) {
        static _Atomic(long (*)(long, ...)) platform;
        long (*function)(long, ...) = atomic_load(&platform);
        if (!function) atomic_store(&platform, function = dlsym(RTLD_NEXT, "syscall"));
        return function(number, values[0], values[1], values[2], values[3], values[4], values[5]);
    }
    fill((unsigned char *)values[0], (size_t)values[1], false);
    return values[1];
}

// Nonces are shown to people in part: a policy may read a name or an amount in them. Keys stay libcrypto's.
int RAND_bytes(unsigned char *bytes, int count) {
    if (current) {
        fill(bytes, (size_t)count, true);
        return 1;
    }
    static _Atomic(int (*)(unsigned char *, int)) platform;
    int (*function)(unsigned char *, int) = atomic_load(&platform);
    if (!function) atomic_store(&platform, function = dlsym(RTLD_NEXT, "RAND_bytes"));
    return function(bytes, count);
}

// MARK: Queues. Keys are derived from passwords on threads of their own; here they take a step of the process instead.

typedef struct { void *isa; int flags, reserved; void (*invoke)(void *); } block_layout;
extern void *_Block_copy(const void *);
extern void _Block_release(const void *);

void dispatch_async(void *queue, void *block) {
    if (current) return callbacks.dispatch(current, _Block_copy(block));
    static _Atomic(void (*)(void *, void *)) platform;
    void (*function)(void *, void *) = atomic_load(&platform);
    if (!function) atomic_store(&platform, function = dlsym(RTLD_NEXT, "dispatch_async"));
    function(queue, block);
}

void simulation_run_block(void *block) {
    ((block_layout *)block)->invoke(block);
    _Block_release(block);
}
