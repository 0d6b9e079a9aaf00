import MobileToken
import MobileTokenTesting
import PowerAuth
import Testing

/// The SDK against the emulator in version 4 of the protocol, over real sockets.
@Suite(.timeLimit(.minutes(5))) struct Version4Tests {
    private func decide(_ emulator: Emulator, _ client: MobileTokenClient, _ activation: Activation) async throws {
        let payment = try await emulator.cloud.createOperation("payment", userID: "alice")
        let operations = client.makeOperationsService(for: activation)
        let operation = try #require(try await operations.operations().first { $0.id == payment.id })
        try await operations.authorize(operation, with: .twoFactors)
        #expect(try await emulator.cloud.operation(payment.id).status == .approved)
    }

    @Test(arguments: AlgorithmSuite.available) func aDeviceActivatesDecidesAndGoes(suite: AlgorithmSuite) async throws {
        try await withEmulator { emulator async throws in
            let client = try emulator.makeClient {
                $0.version = .v4_0
                $0.suite = suite
            }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            #expect(activation.suite == suite)
            try await self.decide(emulator, client, activation)
            try await activation.changePassword(from: SecretBytes(utf8: password), to: SecretBytes(utf8: "another"))
            try await activation.changePassword(from: SecretBytes(utf8: "another"), to: SecretBytes(utf8: password))
            let unlockKey = SecretBytes(copying: Array(0..<16))
            try await activation.addBiometryFactor(key: unlockKey, password: SecretBytes(utf8: password))
            try await activation.validate(.possessionAndBiometry(key: unlockKey))
            try await activation.removeBiometryFactor()
            let key = try await activation.deriveDataKey(index: 1, with: .twoFactors)
            #expect(try await activation.deriveDataKey(index: 1, with: .twoFactors) == key)
            let status = try await activation.status()
            #expect(status.state == .active)
            #expect(status.flags == [])
            #expect(status.counter.distance == 0)
            try await activation.remove(authenticatedBy: .twoFactors)
        }
    }

    @Test func anActivationOfVersion3IsUpgraded() async throws {
        try await withEmulator { emulator async throws in
            let client = try emulator.makeClient { $0.suite = .p384 }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            try await self.decide(emulator, client, activation)
            #expect(try await !activation.status().isUpgradeOffered)
            var rules = await emulator.protocolRules()
            rules.upgradeOffers = [emulator.applicationID]
            try await emulator.setProtocolRules(rules)
            #expect(try await activation.status().isUpgradeOffered)
            try await activation.upgrade(password: SecretBytes(utf8: password))
            #expect(activation.version == .v4_0)
            try await self.decide(emulator, client, activation)
            #expect(try await activation.status().flags == [])
        }
    }

    /// Nothing but a call upgrades an activation, and what runs with it goes on.
    @Test func anAgentUpgradesNothingItselfAndGoesOnAfterwards() async throws {
        try await withEmulator { emulator async throws in
            let (clock, traffic) = (ManualClock(), Traffic())
            let client = try emulator.makeClient {
                $0.suite = .p384
                $0.transport = try traffic.transport()
            }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            var rules = await emulator.protocolRules()
            rules.upgradeOffers = [emulator.applicationID]
            try await emulator.setProtocolRules(rules)
            let agent = try ApprovalAgent(
                operations: client.makeOperationsService(for: activation, configuration: .on(clock)),
                factors: { try await activation.unlockKnowledge(password: password) },
                configuration: .patient,
                policy: { _ in .approve }
            )
            try await traffic.run(agent, clock) { _ in
                for version in [ProtocolVersion.v3_3, .v4_0] {
                    if version == .v4_0 { try await activation.upgrade(password: SecretBytes(utf8: password)) }
                    let payment = try await emulator.cloud.createOperation("payment", userID: "alice")
                    #expect(await emulator.decision(on: payment.id)?.status == .approved)
                    #expect(activation.version == version)
                }
            }
        }
    }
}
