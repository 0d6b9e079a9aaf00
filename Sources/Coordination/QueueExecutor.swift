import Dispatch
import Synchronization

/// Runs an actor on a queue of its own, where it may block.
///
/// Waiting for `fsync` or for another process's lock would take a thread from Swift's cooperative pool, which has only
/// one per core. Dispatch makes another thread when one of its own blocks, and keeps none for an idle queue, which a
/// thread per store would.
public final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue
    private let waitingJobs = Atomic(0)

    /// Creates an executor over a queue of its own.
    public init(label: String) {
        self.queue = DispatchQueue(label: label)
    }

    /// Runs a job on the queue.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.waitingJobs.add(1, ordering: .relaxed)
        self.queue.async {
            self.waitingJobs.subtract(1, ordering: .relaxed)
            job.runSynchronously(on: self.asUnownedSerialExecutor())
        }
    }

    /// The number of jobs that wait for the queue; the one that runs is not counted.
    public var waitingJobCount: Int { self.waitingJobs.load(ordering: .relaxed) }

    /// Waits until the jobs that are queued now have run. Heeds no cancellation, as they do not.
    public func waitForQueuedJobs() async {
        await withCheckedContinuation { continuation in self.queue.async { continuation.resume() } }
    }
}
