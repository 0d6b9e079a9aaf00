import Foundation
import HTTPClientTransport
import MobileTokenTesting
import PowerAuthCrypto
import PowerAuthProtocol
import Testing
import TestSupport

@testable import PowerAuth

/// Client and server go on agreeing whatever the network loses or repeats.
///
/// `POWERAUTH_TEST_SEED` repeats a run; `AGREEMENT_CALLS` makes it shorter or longer.
@Suite(.serialized, .timeLimit(.minutes(10))) struct AgreementTests {
    private static let callCount = ProcessInfo.processInfo.environment["AGREEMENT_CALLS"].flatMap { Int($0) } ?? 10_000

    @Test(arguments: ProtocolVersion.version3)
    func tenThousandMixedCallsWithLossesLeaveBothSidesAgreed(version: ProtocolVersion) async throws {
        let random = Shared(SeededGenerator(test: "agreement of version \(version.rawValue)"))

        let elapsed = Shared(Duration.zero)
        let clock = ManualClock()
        let start = Date(timeIntervalSince1970: 1_790_000_000)
        let now: @Sendable () -> Date = { start + elapsed.value.seconds }
        let server = try VerifyingServer(now: now)
        let store = InMemoryActivationStore()
        let fixture = try Fixture(server: server, store: store) { configuration in
            configuration.version = version
            configuration.clock = clock
            configuration.wallClock = { now() - 12_345 }
        }
        let activation = try await fixture.activate()
        let factor = try await activation.unlockKnowledge(password: Fixture.password)

        server.setFate { _ in
            switch random.update({ Int.random(in: 0..<100, using: &$0) }) {
            case 0..<8: .requestLost
            case 8..<16: .answerLost
            case 16..<24: .duplicated
            default: .delivered
            }
        }

        let succeeded = Shared(Set<String>())
        var number = 0
        while number < Self.callCount {
            let step = random.update { Duration.seconds(Int.random(in: 0..<20, using: &$0)) }
            elapsed.update { $0 += step }
            clock.advance(by: step)
            let batch = random.update { Int.random(in: 1...4, using: &$0) }
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<batch {
                    number += 1
                    let id = "\(number)"
                    let kind = random.update { Int.random(in: 0..<100, using: &$0) }
                    group.addTask {
                        do {
                            try await Self.call(kind, id, activation, factor)
                            if kind < 60 { succeeded.update { _ = $0.insert(id) } }
                        } catch let error as MobileTokenError {
                            #expect(Self.expected.contains(error.code), "call \(id): \(error)")
                        } catch {
                            Issue.record("call \(id): \(error)")
                        }
                    }
                }
            }
        }

        server.setFate { _ in .delivered }
        let status = try await activation.status()
        #expect(status.state == .active)
        #expect((0..<status.counter.window).contains(status.counter.distance))
        let accepted = server.state.value.accepted
        #expect(Set(accepted).count == accepted.count, "accepted twice")
        #expect(succeeded.value.isSubset(of: accepted), "reported and not accepted")
        // A lost answer leaves its caller in doubt; nothing else may.
        #expect(accepted.count - succeeded.value.count < accepted.count / 3)
        try await activation.approve("last", with: .possessionAndKnowledge(password: Fixture.password))
        #expect(server.state.value.accepted.last == "last")
    }

    /// What a lossy network may do to a call; everything else is a disagreement.
    private static let expected: Set<MobileTokenError.Code> = [.noConnection, .connectionLost]

    private static func call(
        _ kind: Int,
        _ id: String,
        _ activation: Activation,
        _ factor: UnlockedFactor
    ) async throws {
        switch kind {
        case 0..<30: try await activation.approve(id)
        case 30..<60: try await activation.approve(id, with: .possessionAndKnowledge(unlocked: factor))
        case 60..<80: try await activation.poll()
        case 80..<85: _ = try await activation.status()
        case 85..<90:
            let sealed = PowerAuthEndpoint<[String: String], [String: [String: String]]>(
                "/api/sealed",
                .signed(uriID: "/sealed"),
                encryption: .activation
            )
            let answer = try await activation.call(sealed, ["id": id])
            #expect(answer == ["echo": ["id": id]])
        case 90..<95: _ = try await activation.userInfo()
        case 95..<97: try await activation.requestToken("other")
        default: try await activation.removeToken("other")
        }
    }
}
