import Coordination
import Dispatch
import Foundation

/// Derives keys from passwords on threads of its own, at most one per core. A derivation computes for milliseconds. On Swift's
/// cooperative pool a hundred of them would delay all timers and tasks of the process.
package final class DerivationQueue: Sendable {
    /// The shared queue, unless a test has its own.
    package static let shared = DerivationQueue(limit: ProcessInfo.processInfo.activeProcessorCount)

    private static let line = "derivation"

    private let gate: KeyedSemaphore
    private let threads = DispatchQueue(label: "key-derivation", attributes: .concurrent)
    private let willRun: @Sendable () -> Void

    /// - Parameters:
    ///   - limit: The number of concurrent derivations; at least one.
    ///   - willRun: Called on the derivation's thread before each one, for tests.
    package init(limit: Int, willRun: @escaping @Sendable () -> Void = {}) {
        self.gate = KeyedSemaphore(width: max(1, limit))
        self.willRun = willRun
    }

    package var waitingCount: Int { self.gate.waitingCount(in: Self.line) }

    /// Runs `derivation` in order of arrival.
    ///
    /// - Throws: The error of `derivation`, or `CancellationError` if canceled while waiting. A running derivation is finished.
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
