import Foundation
import MobileTokenTesting
import Testing
import TestSupport

import PowerAuth
@testable import PowerAuthClient

/// Calls of every kind, a few at a time, over a network that loses and repeats what it likes while time goes on.
///
/// `POWERAUTH_TEST_SEED` repeats a run; `AGREEMENT_CALLS` makes it shorter or longer.
struct MixedCalls: Sendable {
    static let count = ProcessInfo.processInfo.environment["AGREEMENT_CALLS"].flatMap { Int($0) } ?? 10_000

    /// The errors that a lossy network may cause in a call; every other one is a disagreement.
    private static let expected: Set<MobileTokenError.Code> = [.noConnection, .connectionLost]

    let clock = ManualClock()
    private let elapsed = Shared(Duration.zero)
    private let random: Shared<SeededGenerator>

    init(test: String) { self.random = Shared(SeededGenerator(test: test)) }

    var date: Date { Date(timeIntervalSince1970: 1_790_000_000) + self.elapsed.value.seconds }

    func number(in range: Range<Int>) -> Int { self.random.update { Int.random(in: range, using: &$0) } }

    /// Time that the device runs by, whose wall clock is slow.
    func setClocks(of configuration: inout MobileTokenClient.Configuration) {
        configuration.clock = self.clock
        configuration.wallClock = { self.date - 12_345 }
    }

    /// Loses requests and answers of a server, and repeats requests.
    func disturb(_ server: VerifyingServer) {
        server.setFate { _ in
            switch self.number(in: 0..<100) {
            case 0..<8: .requestLost
            case 8..<16: .answerLost
            case 16..<24: .duplicated
            default: .delivered
            }
        }
    }

    /// Makes the calls.
    ///
    /// - Parameters:
    ///   - call: Makes one, of a kind from 0 to 99.
    ///   - afterEachBatch: Called, with the number of calls so far, when nothing is under way.
    /// - Returns: The calls that succeeded.
    func make(
        _ call: @escaping @Sendable (_ kind: Int, _ id: String) async throws -> Void,
        afterEachBatch: (_ number: Int) async throws -> Void = { _ in }
    ) async throws -> [(kind: Int, id: String)] {
        let succeeded = Shared<[(kind: Int, id: String)]>([])
        var number = 0
        while number < Self.count {
            let step = Duration.seconds(self.number(in: 0..<20))
            self.elapsed.update { $0 += step }
            self.clock.advance(by: step)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<self.number(in: 1..<5) {
                    number += 1
                    let (id, kind) = ("\(number)", self.number(in: 0..<100))
                    group.addTask {
                        await Self.tolerating("call \(id)") {
                            try await call(kind, id)
                            succeeded.update { $0.append((kind, id)) }
                        }
                    }
                }
            }
            let made = number
            await Self.tolerating("after \(made)") { try await afterEachBatch(made) }
        }
        return succeeded.value
    }

    private static func tolerating(_ what: String, _ call: () async throws -> Void) async {
        do {
            try await call()
        } catch let error as MobileTokenError {
            #expect(Self.expected.contains(error.code), "\(what): \(error)")
        } catch {
            Issue.record("\(what): \(error)")
        }
    }
}
