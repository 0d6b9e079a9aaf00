internal import Dispatch

/// Runs an actor on a queue of its own, where it may block.
///
/// Waiting for `fsync` or for another process's lock would take a thread from Swift's cooperative pool, which has only
/// one per core. Dispatch makes another thread when one of its own blocks, and keeps none for an idle queue, which a
/// thread per store would.
final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    init(label: String) {
        self.queue = DispatchQueue(label: label)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
