import ExactJSON
import MobileToken
import MobileTokenNotifications
import MobileTokenOffline
import MobileTokenTesting
import PowerAuth
import TestSupport
import Testing

/// A device's life from its code to its removal. The store is closed and opened between the chapters, as a restart of the
/// process would.
@Suite(.timeLimit(.minutes(5))) struct WholeJobTests {
    @Test(arguments: ProtocolVersion.version3)
    func aDeviceActivatesDecidesAndGoes(version: ProtocolVersion) async throws {
        try await self.doTheWholeJob(version, .disabled)
    }

    @Test func aDeviceDoesAllOfItOverTLS() async throws {
        try await self.doTheWholeJob(.v3_3, .selfSigned)
    }

    private func doTheWholeJob(_ version: ProtocolVersion, _ tls: Emulator.TLS) async throws {
        let folder = try TemporaryFolder()
        try await withEmulator(altered(Emulator.Configuration()) { $0.tls = tls }) { emulator in
            let id = try await activate(emulator, folder, version)
            try await decide(emulator, folder, id)
            try await approveOffline(emulator, folder, id)
            try await readInbox(emulator, folder, id)
            try await remove(emulator, folder, id)
            let versions = await emulator.activations().map(\.version)
            #expect(versions == [version.rawValue])
            #expect(await emulator.signedRequests(of: id).refusals == ["the activation is PENDING_COMMIT"])
        }
    }

    private func activate(
        _ emulator: Emulator,
        _ folder: TemporaryFolder,
        _ version: ProtocolVersion
    ) async throws -> String {
        try await withClient(emulator, folder, version) { client in
            let registration = try await emulator.cloud.register(userID: "alice")
            let activation = try await client.activate(
                code: registration.activationQRCode,
                name: "approval bot",
                password: password
            )
            #expect(activation.activationID == registration.id)
            #expect(activation.fingerprint.wholeMatch(of: /[0-9]{8}/) != nil)
            #expect(try await activation.status().state == .pendingCommit)
            #expect(try await errorCode { try await activation.validate(.twoFactors) } == .activationPending)

            try await emulator.cloud.commitRegistration(registration.id)
            let status = try await activation.status()
            #expect(status.state == .active)
            #expect(status.remainingAttempts == 5)
            return activation.activationID
        }
    }

    /// One operation is approved, one rejected, one claimed, one expires; the stream and the history show it.
    private func decide(_ emulator: Emulator, _ folder: TemporaryFolder, _ id: String) async throws {
        try await withClient(emulator, folder) { client in
            let activation = try await client.activation(id: id)
            #expect(activation.name == "approval bot")
            let service = client.makeOperationsService(for: activation)
            var changes = service.changes().makeAsyncIterator()

            let payment = try await emulator.cloud.createOperation(
                "payment",
                userID: "alice",
                parameters: ["amount": "2199.40", "currency": "EUR"]
            )
            let login = try await emulator.cloud.createOperation("login", userID: "alice")
            let shortLived = try await emulator.cloud.createOperation("login", userID: "alice", lifetime: .seconds(30))
            try await service.operations()
            let listed = try #require(await changes.next())
            #expect(Set(listed.added.map(\.id)) == [payment.id, login.id, shortLived.id])

            let approved = try #require(listed.operations.first { $0.id == payment.id })
            #expect(
                try await errorCode { try await service.authorize(approved, with: .possession) } == .factorsNotAllowed
            )
            try await service.authorize(approved, with: .twoFactors)
            #expect(await changes.next()?.removed.map(\.reason) == [.authorized])
            #expect(try await emulator.status(of: approved) == .approved)

            let rejected = try #require(listed.operations.first { $0.id == login.id })
            try await service.reject(rejected, reason: .unexpectedOperation)
            #expect(await changes.next()?.removed.map(\.reason) == [.rejected])
            #expect(try await emulator.cloud.operation(login.id).rejectReason == "UNEXPECTED_OPERATION")

            await emulator.clock.advance(by: .seconds(31))
            try await service.operations()
            #expect(await changes.next()?.removed.map(\.operation.id) == [shortLived.id])

            let free = try await emulator.cloud.createOperation("login", userID: nil)
            #expect(try await service.operations() == [])
            #expect(try await service.claim(id: free.id).id == free.id)
            #expect(await changes.next()?.added.map(\.id) == [free.id])
            #expect(try await service.operations().map(\.id) == [free.id])
            #expect(try await service.detail(id: free.id).status == .pending)

            let history = try await service.history(authenticatedBy: .twoFactors)
            #expect(history.issues == [])
            let statuses = Dictionary(uniqueKeysWithValues: history.operations.map { ($0.id, $0.status) })
            #expect(
                statuses == [payment.id: .approved, login.id: .rejected, shortLived.id: .expired, free.id: .pending]
            )
        }
    }

    /// The server verifies a code that was made without a network, and refuses a wrong one.
    private func approveOffline(_ emulator: Emulator, _ folder: TemporaryFolder, _ id: String) async throws {
        try await withClient(emulator, folder) { client in
            let service = client.makeOperationsService(for: try await client.activation(id: id))
            for registration in [id, nil] {
                let operation = try await emulator.cloud.createOperation("payment", userID: "alice")
                let cloud = emulator.cloud
                let qrCode =
                    if let registration {
                        try await cloud.offlineCode(operation: operation.id, registration: registration).value
                    } else {
                        try await cloud.offlineCode(operation: operation.id)
                    }
                let position = await emulator.journalPosition
                let code = try await service.authorize(
                    offline: OfflineOperation.Unverified(parsing: qrCode.content),
                    with: .twoFactors
                )
                #expect(await emulator.journal(since: position) == [])
                let wrong = try await cloud.verify(
                    offlineCode: "00000000-00000000",
                    nonce: qrCode.nonce,
                    operation: operation.id,
                    registration: id
                )
                #expect(!wrong.isValid)
                #expect(wrong.remainingAttempts == 4)
                let right = try await cloud.verify(
                    offlineCode: code,
                    nonce: qrCode.nonce,
                    operation: operation.id,
                    registration: id
                )
                #expect(right.isValid)
                #expect(try await emulator.cloud.operation(operation.id).status == .approved)
            }
        }
    }

    private func readInbox(_ emulator: Emulator, _ folder: TemporaryFolder, _ id: String) async throws {
        try await withClient(emulator, folder) { client in
            let activation = try await client.activation(id: id)
            let inbox = client.makeInboxService(for: activation)
            for number in 1...3 {
                _ = try await emulator.cloud.createMessage(
                    .init(
                        userID: "alice",
                        subject: "Subject \(number)",
                        summary: "Summary",
                        body: "Body \(number)"
                    )
                )
            }
            #expect(try await inbox.unreadCount() == 3)
            var subjects: [String] = []
            for try await message in inbox.messages() { subjects.append(message.subject) }
            #expect(subjects == ["Subject 3", "Subject 2", "Subject 1"])
            let newest = try #require(try await inbox.list(page: 0, size: 1).messages.first)
            #expect(try await inbox.message(id: newest.id).body == "Body 3")
            try await inbox.markRead(id: newest.id)
            #expect(try await inbox.unreadCount() == 2)
            try await inbox.markAllRead()
            #expect(try await inbox.unreadCount() == 0)

            let push = client.makePushService(for: activation)
            try await push.register(token: "device token", for: .fcm)
            #expect(push.registration?.token == "device token")
            #expect(await emulator.requests(to: "**/device/register/token").accepted.count == 1)
        }
    }

    private func remove(_ emulator: Emulator, _ folder: TemporaryFolder, _ id: String) async throws {
        try await withClient(emulator, folder) { client in
            let activation = try await client.activation(id: id)
            #expect(try await activation.tokenNames() == ["possession_universal"])
            #expect(await emulator.requests(to: "**/token/create").count == 1)  // in the first chapter, and kept since
            try await activation.remove(authenticatedBy: .twoFactors)
            #expect(await emulator.activations().map(\.status) == [.removed])
            #expect(try await client.activations().isEmpty)
        }
        try await withClient(emulator, folder) { client in
            let code = try await errorCode { try await client.activation(id: id) }
            #expect(code == .unknownActivation)
        }
    }

    /// A process's life: a client over the database in the folder, closed at the end.
    private func withClient<Result>(
        _ emulator: Emulator,
        _ folder: TemporaryFolder,
        _ version: ProtocolVersion = .v3_3,
        _ body: (MobileTokenClient) async throws -> Result
    ) async throws -> Result {
        let store = ActivationStore.sqlite(path: folder.path + "/activations.sqlite")
        let client = try emulator.makeClient {
            $0.version = version
            $0.store = store
        }
        let result = try await body(client)
        await store.close()
        return result
    }
}

extension Emulator {
    fileprivate func signedRequests(of id: String) async -> [JournalEntry] {
        await self.journal().filter { $0.activationID == id && $0.isSigned }
    }
}
