#ifndef CRUNTIMEHOOKS_H
#define CRUNTIMEHOOKS_H
#include <stdbool.h>
#include <stdint.h>

/// What the runtime tells of a job that is to be run.
typedef struct {
    const void *_Nonnull job;
    /// 0 for a task; 192 and above for an actor's turn and other jobs of the runtime.
    uint8_t kind;
    /// Belongs to a task group or to `async let`; its memory may be its parent's.
    bool is_child;
    /// The lower half of a task's number; 0 for other jobs.
    uint32_t number;
    /// Nanoseconds from now for a sleep by a clock of the system's; negative otherwise.
    int64_t delay;
} simulated_job;

/// What a thread with a simulator asks it for.
typedef struct {
    /// Takes a job.
    void (*_Nonnull enqueue)(void *_Nonnull simulator, simulated_job job);
    /// Returns nanoseconds: since 1970 for the wall clock, since the machine's start otherwise.
    int64_t (*_Nonnull time)(void *_Nonnull simulator, bool is_wall);
    /// Returns eight random bytes, of libcrypto's or of the system's.
    uint64_t (*_Nonnull random)(void *_Nonnull simulator, bool is_nonce);
    /// Takes a block that was given to a queue.
    void (*_Nonnull dispatch)(void *_Nonnull simulator, void *_Nonnull block);
} simulation_callbacks;

/// Says who answers, once for the program.
void simulation_install(simulation_callbacks callbacks);
/// Makes the calling thread a simulator's, or nobody's.
void simulation_enter(void *_Nullable simulator);
/// The simulator of the calling thread.
void *_Nullable simulation_current(void);

/// Gives a job to the simulator of this thread.
void simulation_accept(const void *_Nonnull job, int64_t delay);
/// Runs a job in this thread until it suspends or ends; an actor's turn until the actor has nothing left to do. Of a task no more
/// than to its next change of actors.
void simulation_run(const void *_Nonnull job, const void *_Nonnull executor, const void *_Nonnull witness_table);

/// Runs a block that was given to a queue, once.
void simulation_run_block(void *_Nonnull block);

/// The jobs that threads without a simulator have enqueued since the program began.
uint64_t simulation_foreign_count(void);
void simulation_count_foreign(void);

/// Counts of references to a task, which holds one itself until it has ended.
void simulation_retain(const void *_Nonnull task);
void simulation_release(const void *_Nonnull task);
unsigned long simulation_retain_count(const void *_Nonnull task);
#endif
