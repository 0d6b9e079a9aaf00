import Basics
import StoreTesting
import TestSupport
import Testing

import PowerAuth

/// Names of tokens and activations: what is accepted comes back as it went in.
@Suite(.timeLimit(.minutes(5)))
struct NameTests {
    private static let odd = [
        "\u{301}", "\u{301}name", "e\u{301}", "é", ":", "token:", "\u{200D}", "日本", "👩‍👩‍👧", "a b", "' OR 1",
        String(repeating: "x", count: 255),
    ]
    private static let impossible = [
        "", "a\0b", "\0", "a\nb", "a\r\nb", "\t", "\u{7F}", "\u{85}", "\u{9B}31m", "\u{2028}", "\u{2029}",
        String(repeating: "x", count: 256), String(repeating: "é", count: 128),
    ]

    private let folder: TemporaryFolder
    private var path: String { self.folder.file("store.sqlite") }

    init() throws { self.folder = try TemporaryFolder() }

    private func bytes(_ names: [String]) -> [[UInt8]] { names.map { Array($0.utf8) } }

    @Test(arguments: odd) func aTokenOfAnyAcceptedNameIsFoundAgain(name: String) async throws {
        let store = ActivationStore.sqlite(path: self.path)
        let (fixture, activation) = try await Fixture(store: store).activated
        try await activation.requestToken(name)
        await store.close()

        let again = try Fixture(server: fixture.server, store: ActivationStore.sqlite(path: self.path))
        let restored = try await again.client.activation(id: activation.activationID)
        #expect(self.bytes(try await restored.tokenNames()) == self.bytes([name]))
        try await restored.requestToken(name)
        #expect(fixture.server.requestCount("/token/create") == 1)
        try await restored.removeToken(name)
        #expect(try await restored.tokenNames() == [])
    }

    /// Swift's `String` takes them for equal.
    @Test func namesThatOnlyLookAlikeAreTwoTokens() async throws {
        let names = ["e\u{301}", "é"]
        let store = ActivationStore.sqlite(path: self.path)
        let (fixture, activation) = try await Fixture(store: store).activated
        for name in names { try await activation.requestToken(name) }
        #expect(fixture.server.requestCount("/token/create") == 2)
        #expect(self.bytes(try await activation.tokenNames()) == self.bytes(names))
        try await activation.removeToken("é")
        #expect(self.bytes(try await activation.tokenNames()) == self.bytes(["e\u{301}"]))
    }

    @Test(arguments: impossible) func aNameThatCannotBeKeptIsRefusedBeforeAnythingIsSent(name: String) async throws {
        let (fixture, activation) = try await Fixture(store: ActivationStore.sqlite(path: self.path)).activated
        let calls: [() async throws -> Void] = [
            { try await activation.requestToken(name) },
            {
                _ = try await activation.call(
                    PowerAuthEndpoint<PowerAuthEmptyBody, PowerAuthEmptyBody>("/api/token", .token(name)),
                    PowerAuthEmptyBody()
                )
            },
        ]
        for call in calls {
            let error = await #expect(throws: MobileTokenError.self) { try await call() }
            #expect(error?.code == .invalidName)
            #expect(name.isEmpty || error?.description.contains(name) == false)
        }
        #expect(fixture.server.requestCount("/token/create") == 0)
        // The record is as good as before.
        try await activation.poll()
    }

    @Test(arguments: impossible) func anActivationOfSuchANameIsRefusedBeforeTheCodeIsUsed(name: String) async throws {
        let fixture = try Fixture()
        let code = try fixture.server.makeCode()
        await expectError(.invalidName) {
            try await fixture.client.activate(code: code, name: name, password: Fixture.password)
        }
        #expect(fixture.server.state.value.requests.isEmpty)
    }

    @Test(arguments: odd) func anActivationKeepsItsName(name: String) async throws {
        let store = ActivationStore.sqlite(path: self.path)
        let fixture = try Fixture(store: store)
        let activation = try await fixture.client.activate(
            code: try fixture.server.makeCode(),
            name: name,
            password: Fixture.password
        )
        await store.close()
        let record = try await ActivationStore.sqlite(path: self.path).record(of: activation.activationID)
        #expect(record?.name.map { Array($0.utf8) } == Array(name.utf8))
    }

    /// Below the rule for names nothing may be cut off: a record with such a name could never be opened again.
    @Test func theStoreKeepsEveryByteOfAName() async throws {
        let store = ActivationStore.sqlite(path: self.path)
        try await store.insert(ActivationStoreConformance.record("a"))
        let token = ActivationRecord.Token(id: "t", secret: SecretBytes(copying: [1]))
        try await store.update("a") { $0.tokens = ["x\0y": token, "x": token, "": token] }
        #expect(try await store.record(of: "a")?.tokens == ["x\0y": token, "x": token, "": token])
        try await store.update("a") { $0.tokens["x"] = nil }
        #expect(try await store.record(of: "a")?.tokens == ["x\0y": token, "": token])
    }
}
