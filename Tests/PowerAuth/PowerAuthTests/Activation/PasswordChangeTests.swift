import Testing

import PowerAuth

@Suite(.timeLimit(.minutes(5))) struct PasswordChangeTests {
    private let new = SecretBytes(utf8: "new password")

    @Test(arguments: [ProtocolVersion.v3_3, .v4_0])
    func theOldPasswordIsConfirmedFirstAndNotAskedForAgain(version: ProtocolVersion) async throws {
        let (fixture, activation) = try await Fixture(version: version).activated
        let change = try await activation.beginPasswordChange(from: Fixture.secret)
        try await activation.approve("a", with: Fixture.twoFactors)
        try await activation.finishPasswordChange(change, to: self.new)
        try await activation.approve("b", with: .possessionAndKnowledge(password: self.new))
        #expect(fixture.server.state.value.accepted == ["a", "b"])
        await expectError(.authenticationFailed) {
            try await activation.approve("c", with: Fixture.twoFactors)
        }
    }

    @Test(arguments: [ProtocolVersion.v3_3, .v4_0])
    func aWrongPasswordBeginsNothing(version: ProtocolVersion) async throws {
        let (_, activation) = try await Fixture(version: version).activated
        await expectError(.authenticationFailed) { _ = try await activation.beginPasswordChange(from: self.new) }
        try await activation.approve("a", with: Fixture.twoFactors)
    }

    @Test(arguments: [ProtocolVersion.v3_3, .v4_0])
    func aChangeThatWasOvertakenByAnotherChangesNothing(version: ProtocolVersion) async throws {
        let (_, activation) = try await Fixture(version: version).activated
        let change = try await activation.beginPasswordChange(from: Fixture.secret)
        try await activation.changePassword(from: Fixture.secret, to: self.new)
        let third = SecretBytes(utf8: "third password")
        await expectError(.authenticationFailed) { try await activation.finishPasswordChange(change, to: third) }
        try await activation.approve("a", with: .possessionAndKnowledge(password: self.new))
    }

    @Test func aChangeBelongsToItsActivation() async throws {
        let fixture = try Fixture()
        let one = try await fixture.activate()
        let other = try await fixture.activate()
        let change = try await one.beginPasswordChange(from: Fixture.secret)
        await expectError(.invalidAuthentication) { try await other.finishPasswordChange(change, to: self.new) }
        await expectError(.invalidAuthentication) {
            try await one.finishPasswordChange(change, to: SecretBytes(utf8: "abc"))
        }
        try await one.finishPasswordChange(change, to: self.new)
        try await one.approve("a", with: .possessionAndKnowledge(password: self.new))
    }
}
