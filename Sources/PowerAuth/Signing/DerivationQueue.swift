import Coordination
import Dispatch
import Foundation

/// Runs the derivation of keys from passwords on threads of its own, no more of them at once than there are cores.
///
/// One derivation takes milliseconds of computing. On Swift's cooperative pool, which has one thread per core, some hundred
/// of them would keep every timer and every other task of the process waiting; more threads than cores would only take the
/// time from each other.
package final class DerivationQueue: Sendable {
    /// The one that every client uses, unless a test has its own.
    package static let shared = DerivationQueue(limit: ProcessInfo.processInfo.activeProcessorCount)

    private static let line = "derivation"

    private let gate: KeyedSemaphore
    private let threads = DispatchQueue(label: "key-derivation", attributes: .concurrent)
    private let willRun: @Sendable () -> Void

    /// Creates a queue.
    ///
    /// - Parameters:
    ///   - limit: The number of derivations that run at once; at least one.
    ///   - willRun: Called on the derivation's thread before each one, for tests.
    package init(limit: Int, willRun: @escaping @Sendable () -> Void = {}) {
        self.gate = KeyedSemaphore(width: max(1, limit))
        self.willRun = willRun
    }

    /// The number of derivations that wait for their turn.
    package var waitingCount: Int { self.gate.waitingCount(in: Self.line) }

    /// Runs `derivation` when its turn comes, in order of arrival.
    ///
    /// - Throws: The error of `derivation`, or `CancellationError` when the task is canceled while it waits for its
    ///   turn. A derivation that has begun is finished.
    func run<Key: Sendable>(_ derivation: @escaping @Sendable () throws -> Key) async throws -> Key {
        try await self.gate.enter(Self.line)
        defer { self.gate.leave(Self.line) }
        return try await withCheckedThrowingContinuation { continuation in
            self.threads.async {
                self.willRun()
                continuation.resume(with: Result { try derivation() })
            }
        }
    }
}
