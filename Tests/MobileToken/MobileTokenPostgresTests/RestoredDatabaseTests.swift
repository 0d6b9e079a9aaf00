import MobileToken
import MobileTokenPostgres
import MobileTokenTesting
import PostgresTestServer
import PowerAuth
import Testing

/// A database that went back, and the bank that did not.
@Suite(.timeLimit(.minutes(5)), .ifPostgresIsInstalled)
struct RestoredDatabaseTests {
    enum Trace: String, CaseIterable {
        /// The mark that the node kept outside the database.
        case mark
        /// The timeline of a database that was promoted; the node has no marks.
        case timeline
    }

    @Test(arguments: Trace.allCases)
    func theNextSignatureIsAcceptedAndNoneIsMadeInVain(trace: Trace) async throws {
        let server = try await PostgresTestServer.start()
        try await withEmulator { emulator in
            try await withNodes(server) { nodes in
                let before = try await Signer(emulator, nodes.node("before", Self.quick))
                try await before.approve()
                try await server.stop()
                try await server.backUp(to: "backup")
                try await server.start()
                for _ in 0..<4 { try await before.approve() }
                try await server.stop()
                try await server.restore("backup")
                if trace == .timeline { try await server.promote() } else { try await server.start() }

                let position = await emulator.journalPosition
                let after =
                    trace == .mark ? before : try await before.onAnotherNode(nodes.node("after", Self.quick))
                // All rights end with the epoch, also the one under which it is noticed.
                var offline: MobileTokenError?
                repeat {
                    offline = await #expect(throws: MobileTokenError.self) { try await after.signOffline() }
                } while offline?.code == .signingTurnLost
                #expect(offline?.code == .stateRolledBack)
                try await after.approve()
                let signed = await emulator.signedRequests(of: after.activation, since: position)
                #expect(signed.count == 1)
                #expect(signed.refusals == [])
                let entry = try #require(signed.first)
                // Signatures that were made offline, or never arrived, are passed over.
                #expect(entry.counterAfter == entry.counterBefore.map { $0 + 11 })
                #expect(await emulator.summary(of: after.activation)?.failedAttempts == 0)
                _ = try await after.signOffline()
                try await after.approve()
            }
        }
    }

    @Test func aDatabaseThatIsTooOldIsReportedAndSignsNothing() async throws {
        let server = try await PostgresTestServer.start()
        try await withEmulator { emulator in
            try await withNodes(server) { nodes in
                let before = try await Signer(emulator, nodes.node("before", Self.quick))
                try await server.stop()
                try await server.backUp(to: "backup")
                try await server.start()
                for _ in 0..<20 { try await before.approve() }
                try await server.stop()
                try await server.restore("backup")
                try await server.promote()
                let position = await emulator.journalPosition
                let after = try await before.onAnotherNode(nodes.node("after", Self.quick))
                let error = await #expect(throws: MobileTokenError.self) { try await after.approve() }
                #expect(error?.code == .stateRolledBack)
                #expect(await emulator.signedRequests(of: after.activation, since: position).isEmpty)

                // An operator knows that no other copy of the database signs.
                // Twenty decisions and a token, and ten that may have been made offline.
                #expect(try await after.activation.recoverCounter() == 31)
                try await after.approve()
                let signed = await emulator.signedRequests(of: after.activation, since: position)
                #expect(signed.count == 2 && signed.refusals == [])
                _ = try await after.signOffline()
                try await after.approve()
            }
        }
    }

    /// Lifetimes that the quarantine after a restore makes a test wait for.
    /// As short as a lifetime may be within which a slow machine begins and ends a signature: a restore is waited out for one.
    private static func quick(_ configuration: inout PostgresConfiguration) {
        configuration.lifetimes = NodeLifetimes(heartbeat: .milliseconds(300), death: .seconds(5))
    }
}

/// A device whose operations are approved by hand.
private struct Signer {
    private static let password = "correct horse"

    let emulator: Emulator
    let activation: Activation

    init(_ emulator: Emulator, _ store: ActivationStore) async throws {
        let client = try emulator.makeClient { $0.store = store }
        self.emulator = emulator
        self.activation = try await emulator.makeActivation(user: "alice", password: Self.password, client: client)
    }

    private init(_ emulator: Emulator, _ activation: Activation) {
        self.emulator = emulator
        self.activation = activation
    }

    func onAnotherNode(_ store: ActivationStore) async throws -> Signer {
        let client = try self.emulator.makeClient { $0.store = store }
        return Signer(self.emulator, try await client.activation(id: self.activation.activationID))
    }

    func approve() async throws {
        let service = OperationsService(activation: self.activation)
        let made = try await self.emulator.cloud.createOperation("login", userID: "alice")
        let operation = try #require(try await service.operations().first { $0.id == made.id })
        try await service.authorize(operation, with: .possessionAndKnowledge(password: Self.password))
    }

    func signOffline() async throws -> String {
        try await self.activation.offlineSignature(
            data: Array("operation&data".utf8),
            nonce: Array(repeating: 7, count: 16),
            uriID: "/operation/authorize/offline",
            with: .possessionAndKnowledge(password: Self.password)
        )
    }
}
