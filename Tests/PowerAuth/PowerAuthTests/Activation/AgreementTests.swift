import Testing

import PowerAuth

/// Client and server go on agreeing whatever the network loses or repeats, with upgrades, changes of password and
/// biometry among the calls.
@Suite(.serialized, .timeLimit(.minutes(10))) struct AgreementTests {
    /// The user of the device, who does one thing after the other, and knows the result afterwards.
    private actor User {
        let activation: Activation
        private let unlockKey = SecretBytes(copying: Array(0..<16))
        private var password = Fixture.secret
        /// Passwords chosen so far; a change that failed leaves the one before.
        private var changes = 0
        /// `true` if the server may have turned biometry off already.
        private var isRemoving = false

        init(_ activation: Activation) { self.activation = activation }

        var twoFactors: Activation.Authentication { .possessionAndKnowledge(password: self.password) }

        func changePassword() async throws {
            self.changes += 1
            let new = SecretBytes(utf8: "password \(self.changes)")
            let before = try await self.activation.storedRecord().version4?.knowledgeKey
            do {
                try await self.activation.changePassword(from: self.password, to: new)
            } catch {
                // The store knows whether the new password protects a key now.
                if try await self.activation.storedRecord().version4?.knowledgeKey == before { throw error }
            }
            self.password = new
        }

        func changeBiometry() async throws {
            if try await self.activation.hasBiometryFactor() {
                if !self.isRemoving { try await self.activation.validate(.possessionAndBiometry(key: self.unlockKey)) }
                self.isRemoving = true
                try await self.activation.removeBiometryFactor()
                self.isRemoving = false
            } else {
                try await self.activation.addBiometryFactor(key: self.unlockKey, password: self.password)
            }
        }

        func upgrade() async throws {
            guard self.activation.version != .v4_0 else { return }
            try await self.activation.upgrade(password: self.password)
        }
    }

    @Test(arguments: ProtocolVersion.allCases)
    func tenThousandMixedCallsWithLossesLeaveBothSidesAgreed(version: ProtocolVersion) async throws {
        let calls = MixedCalls(test: "agreement of version \(version.rawValue)")
        let server = try VerifyingServer(now: { calls.date })
        let fixture = try Fixture(version: version, server: server) { calls.setClocks(of: &$0) }
        if version.isVersion3 { server.offerUpgrades() }
        let activation = try await fixture.activate()
        let user = User(activation)
        let factor = version == .v4_0 ? nil : try await activation.unlockKnowledge(password: Fixture.secret)
        calls.disturb(server)
        // Half of the calls are made in version 3, where the activation began in it.
        // One at a time, as a person does: what is left of a change is known only when it has ended.
        let succeeded = try await calls.make {
            try await Self.call($0, $1, activation, activation.version == .v4_0 ? nil : factor)
        } afterEachBatch: { number in
            switch calls.number(in: 0..<20) {
            case 0 where activation.version == .v4_0: try await user.changePassword()
            case 1 where activation.version == .v4_0: try await user.changeBiometry()
            case 2, 3: try await activation.approve("two-\(number)", with: user.twoFactors)
            case 4 where number > MixedCalls.count / 2: try await user.upgrade()
            default: break
            }
        }
        let approved = Set(succeeded.filter { $0.kind < 60 }.map(\.id))
        server.setFate { _ in .delivered }
        try await user.upgrade()
        let status = try await activation.status()
        #expect(status.state == .active)
        #expect((0..<status.counter.window).contains(status.counter.distance))
        let accepted = server.state.value.accepted
        #expect(Set(accepted).count == accepted.count, "accepted twice")
        #expect(approved.isSubset(of: accepted), "reported and not accepted")
        // A lost answer leaves its caller in doubt; nothing else may.
        #expect(accepted.count { !$0.hasPrefix("two-") } - approved.count < accepted.count / 3)
        try await activation.approve("last", with: user.twoFactors)
        #expect(server.state.value.accepted.last == "last")
        // Not before: a request with two factors that the network repeated is a failed attempt until the next one succeeds.
        #expect(try await activation.status().failedAttempts == 0)
    }

    /// - Parameter factor: The password in version 3, where it does not change.
    private static func call(
        _ kind: Int,
        _ id: String,
        _ activation: Activation,
        _ factor: Activation.Authentication.UnlockedFactor?
    ) async throws {
        switch kind {
        case 0..<30: try await activation.approve(id)
        case 30..<60:
            try await activation.approve(id, with: factor.map { .possessionAndKnowledge(unlocked: $0) } ?? .possession)
        case 60..<80: try await activation.poll()
        case 80..<85: _ = try await activation.status()
        case 85..<90:
            let sealed = PowerAuthEndpoint<[String: String], [String: [String: String]]>(
                "/api/sealed",
                .signed(uriID: "/sealed"),
                encryption: .activation
            )
            #expect(try await activation.call(sealed, ["id": id]) == ["echo": ["id": id]])
        case 90..<94: _ = try await activation.userInfo()
        case 94..<97: try await activation.requestToken("other")
        default: try await activation.removeToken("other")
        }
    }
}
