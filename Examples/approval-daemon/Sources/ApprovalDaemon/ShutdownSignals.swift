import Dispatch
import Glibc
import Synchronization

/// Runs a closure on the first SIGTERM or SIGINT; one that comes a second or more later ends the process at once.
///
/// Sooner it is the same one: some supervisors send it to the process, and then to its group.
public final class ShutdownSignals: Sendable {
    // Dispatch sources may be used from any thread; the compiler does not know that of the protocol type.
    nonisolated(unsafe) private let sources: [any DispatchSourceSignal]

    /// Begins to listen. Nobody who closes the other end of a pipe ends the process any more.
    public init(_ shutDown: @escaping @Sendable () -> Void) {
        signal(SIGPIPE, SIG_IGN)
        // A parent may have started this process with signals blocked, and they would never arrive.
        var numbers = sigset_t()
        sigemptyset(&numbers)
        for number in [SIGINT, SIGTERM] { sigaddset(&numbers, number) }
        pthread_sigmask(SIG_UNBLOCK, &numbers, nil)
        let first = FirstSignal()
        self.sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                guard let elapsed = first.elapsed else { return shutDown() }
                if elapsed >= .seconds(1) { _exit(128 + number) }
            }
            source.activate()
            return source
        }
    }

    private final class FirstSignal: Sendable {
        private let time = Mutex<ContinuousClock.Instant?>(nil)

        /// How long ago the first one came; `nil` for the first one.
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
