import PowerAuthCrypto
import PowerAuthProtocol
import Testing
import TestSupport

@testable import PowerAuth

/// Client and server go on agreeing whatever the network loses or repeats.
@Suite(.serialized, .timeLimit(.minutes(10))) struct AgreementTests {
    @Test(arguments: ProtocolVersion.version3)
    func tenThousandMixedCallsWithLossesLeaveBothSidesAgreed(version: ProtocolVersion) async throws {
        let calls = MixedCalls(test: "agreement of version \(version.rawValue)")
        let server = try VerifyingServer(now: { calls.date })
        let fixture = try Fixture(server: server, store: ActivationStore.inMemory()) { configuration in
            configuration.version = version
            calls.setClocks(of: &configuration)
        }
        let activation = try await fixture.activate()
        let factor = try await activation.unlockKnowledge(password: Fixture.password)
        calls.disturb(server)
        let succeeded = try await calls.make { try await Self.call($0, $1, activation, factor) }
        let approved = Set(succeeded.filter { $0.kind < 60 }.map(\.id))

        server.setFate { _ in .delivered }
        let status = try await activation.status()
        #expect(status.state == .active)
        #expect((0..<status.counter.window).contains(status.counter.distance))
        let accepted = server.state.value.accepted
        #expect(Set(accepted).count == accepted.count, "accepted twice")
        #expect(approved.isSubset(of: accepted), "reported and not accepted")
        // A lost answer leaves its caller in doubt; nothing else may.
        #expect(accepted.count - approved.count < accepted.count / 3)
        try await activation.approve("last", with: .possessionAndKnowledge(password: Fixture.password))
        #expect(server.state.value.accepted.last == "last")
    }

    private static func call(
        _ kind: Int,
        _ id: String,
        _ activation: Activation,
        _ factor: Authentication.UnlockedFactor
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
