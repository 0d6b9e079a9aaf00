import Dispatch
import Foundation
package import Synchronization

/// Cancels the running command on SIGINT and SIGTERM.
///
/// A command that does not end within a second, such as one that waits for input, is terminated unless it must not be
/// interrupted.
package final class TerminationSignals: Sendable {
    // Dispatch sources are thread-safe, but their protocol type does not say so.
    nonisolated(unsafe) private let sources: [any DispatchSourceSignal]

    /// Indicates whether the command must not be interrupted, for example because the server has consumed an activation code.
    package static let mustFinish = Atomic(false)

    /// The last received signal; 0 before the first.
    static let received = Atomic<CInt>(0)

    init(onSignal: @escaping @Sendable () -> Void, beforeForcedExit: @escaping @Sendable () -> Void) {
        // A parent may have blocked the signals, which would then never arrive.
        var numbers = sigset_t()
        sigemptyset(&numbers)
        for number in [SIGINT, SIGTERM] { sigaddset(&numbers, number) }
        pthread_sigmask(SIG_UNBLOCK, &numbers, nil)
        self.sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler {
                Self.received.store(number, ordering: .releasing)
                onSignal()
                DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(900)) {
                    guard !Self.mustFinish.load(ordering: .acquiring) else { return }
                    beforeForcedExit()
                    exit(ExitCode.interrupted.rawValue)
                }
            }
            source.activate()
            return source
        }
    }

    func stop() { for source in self.sources { source.cancel() } }
}
