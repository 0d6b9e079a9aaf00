#if ServiceLifecycle
    import ServiceLifecycle
#endif

/// Runs a service, and cancels it at a graceful shutdown of its `ServiceGroup`, where the trait `ServiceLifecycle` is on.
///
/// The end by a graceful shutdown is no error, so `CancellationError` is thrown only if the calling task is canceled.
package func cancelingAtShutdown(_ run: @escaping @Sendable () async throws -> Void) async throws {
    #if ServiceLifecycle
        do {
            try await cancelWhenGracefulShutdown(run)
        } catch let error as CancellationError {
            guard Task.isShuttingDownGracefully, !Task.isCancelled else { throw error }
        }
    #else
        try await run()
    #endif
}
