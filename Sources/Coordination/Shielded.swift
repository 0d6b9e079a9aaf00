/// Runs `work` to its end and waits for it, whether or not the calling task is canceled.
///
/// ``UncancellableTask`` is for work that outlives its caller's wait; here the caller waits too.
public func shielded<Result: Sendable>(_ work: @escaping @Sendable () async -> Result) async -> Result {
    // A task of its own: the caller's cancellation does not reach it.
    await Task { await work() }.value
}
