/// Runs `work` to its end and waits for it, even if the calling task is canceled. ``UncancellableTask`` does not make a canceled
/// caller wait.
public func shielded<Result: Sendable>(_ work: @escaping @Sendable () async -> Result) async -> Result {
    // A separate task does not inherit the caller's cancellation.
    await Task { await work() }.value
}
