import Dispatch
import Synchronization

/// Runs an actor on its own queue, where it may block.
///
/// Waiting for `fsync` or another process's lock would block one of the few threads of Swift's cooperative pool. Dispatch
/// replaces a blocked thread, and keeps none for an idle queue.
public final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue
    private let waitingJobs = Atomic(0)

    /// Creates an executor with its own queue.
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

    /// The number of waiting jobs, without the running one.
    public var waitingJobCount: Int { self.waitingJobs.load(ordering: .relaxed) }

    /// Waits until the jobs queued now have run. Ignores cancellation.
    public func waitForQueuedJobs() async {
        await withCheckedContinuation { continuation in self.queue.async { continuation.resume() } }
    }
}
