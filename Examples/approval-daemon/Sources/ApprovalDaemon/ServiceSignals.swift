import Dispatch
import Glibc
import Synchronization

/// Runs one closure on the first SIGTERM or SIGINT, and another one on each SIGHUP. A SIGTERM or SIGINT that comes a second or more
/// after the first ends the process at once.
///
/// Sooner it is the same one: some supervisors send it to the process, and then to its group.
public final class ServiceSignals: Sendable {
    // Dispatch sources may be used from any thread; the compiler does not know that of the protocol type.
    nonisolated(unsafe) private let sources: [any DispatchSourceSignal]

    /// Begins to listen. Nobody who closes the other end of a pipe ends the process any more.
    public init(shutDown: @escaping @Sendable () -> Void, reload: @escaping @Sendable () -> Void) {
        signal(SIGPIPE, SIG_IGN)
        let first = FirstSignal()
        let end: @Sendable (Int32) -> Void = { number in
            guard let elapsed = first.elapsed else { return shutDown() }
            if elapsed >= .seconds(1) { _exit(128 + number) }
        }
        let handlers: [(Int32, @Sendable () -> Void)] = [
            (SIGINT, { end(SIGINT) }), (SIGTERM, { end(SIGTERM) }), (SIGHUP, reload),
        ]
        // A parent may have started this process with signals blocked, and they would never arrive.
        var numbers = sigset_t()
        sigemptyset(&numbers)
        for (number, _) in handlers { sigaddset(&numbers, number) }
        pthread_sigmask(SIG_UNBLOCK, &numbers, nil)
        self.sources = handlers.map { number, handler in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler(handler: handler)
            source.activate()
            return source
        }
    }

    private final class FirstSignal: Sendable {
        private let time = Mutex<ContinuousClock.Instant?>(nil)

        /// The time since the first signal; `nil` for the first one.
        var elapsed: Duration? {
            self.time.withLock { time in
                guard let first = time else {
                    time = .now
                    return nil
                }
                return first.duration(to: .now)
            }
        }
    }

    /// Listens no more.
    public func stop() { for source in self.sources { source.cancel() } }
}
