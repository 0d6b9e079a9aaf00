#if ServiceLifecycle
    import Coordination
    import Foundation
    import HTTPClientTransport
    import Logging
    import MobileToken
    import MobileTokenApprovals
    import MobileTokenCloud
    import MobileTokenEmulator
    import MobileTokenPostgres
    import MobileTokenTesting
    import PostgresTestServer
    import PowerAuth
    import ServiceLifecycle
    import TestSupport
    import Testing

    /// Agent, fleet, desk, client and store in one group, which ends amid a decision.
    @Suite(.timeLimit(.minutes(5))) struct ServiceGroupTests {
        private static let password = "correct horse"

        private struct Noted: Service {
            let name: String
            let service: any Service
            let ends: Shared<[String]>

            func run() async throws {
                defer { self.ends.update { $0.append(self.name) } }
                try await self.service.run()
            }
        }

        /// Holds requests with a decision until they may go on.
        private struct Holding: HTTPTransport {
            let base: CurlTransport
            let came = Signal()
            let mayGo = Signal()
            let count = Shared(0)

            func send(_ request: HTTPRequest) async throws -> HTTPResponse {
                if request.url.hasSuffix("/operation/authorize") {
                    self.count.update { $0 += 1 }
                    self.came.raise()
                    _ = await self.mayGo.wait()
                }
                return try await self.base.send(request)
            }
        }

        private struct Receipts: MobileTokenObserver {
            let kinds = Shared<[String]>([])

            func receiptWritten(_ receipt: MobileTokenObservation.Receipt) {
                self.kinds.update { $0.append(receipt.kind.description) }
            }
        }

        @Test func aGracefulShutdownEndsAllInOrder() async throws {
            let folder = try TemporaryFolder()
            try await self.end(with: .sqlite(path: folder.file("store.sqlite"), sealingKey: Self.key()), folder)
        }

        @Test(.enabled(if: PostgresTestServer.isInstalled)) func aNodeHandsBackItsRights() async throws {
            let folder = try TemporaryFolder()
            let server = try await PostgresTestServer.shared()
            var configuration = PostgresConfiguration(
                connectionString: server.connectionString(),
                sealingKeys: SealingKeyRing(current: Self.key())
            )
            configuration.tls = .disabled
            configuration.schema = "test \(UUID().uuidString)"
            configuration.nodeName = "first"
            configuration.markFolder = folder.file("first")
            let store = ActivationStore.postgres(configuration)
            try await self.end(with: store, folder)
            // No lease is left that another node would have to wait for.
            configuration.nodeName = "second"
            configuration.markFolder = folder.file("second")
            let other = ActivationStore.postgres(configuration)
            #expect(try await other.nodes().isEmpty)
            await other.close()
        }

        private static func key() -> some SealingKeyProvider {
            SealingKey.closure { SecretBytes(copying: [UInt8](repeating: 7, count: 32)) }
        }

        private func end(with store: ActivationStore, _ folder: TemporaryFolder) async throws {
            try await withEmulator { emulator in
                let transport = Holding(base: try CurlTransport())
                let receipts = Receipts()
                let client = try emulator.makeClient {
                    $0.store = store
                    $0.transport = transport
                    $0.observer = receipts
                }
                _ = try await emulator.makeActivation(user: "alice", password: Self.password, client: client)
                for _ in 0..<2 { _ = try await emulator.cloud.createOperation("login", userID: "alice") }
                let fleet = client.makeFleet()
                let agent = ApprovalAgent(
                    fleet: fleet,
                    factors: { _ in .possessionAndKnowledge(password: Self.password) }
                ) { _ in .approve }
                let desk = try await ApprovalDesk(
                    audience: "group",
                    cloud: try CloudClient(
                        baseURL: emulator.cloudURL,
                        credentials: .init(user: emulator.cloudUser, password: emulator.cloudPassword)
                    ),
                    ledger: .sqlite(path: folder.file("approvals.sqlite"))
                )
                let ends = Shared<[String]>([])
                let named: [(String, any Service)] = [
                    ("store", store), ("client", client), ("fleet", fleet), ("desk", desk), ("agent", agent),
                ]
                let services = named.map { Noted(name: $0, service: $1, ends: ends) }
                let group = ServiceGroup(
                    services: services,
                    logger: Logger(label: "group", factory: { _ in SwiftLogNoOpLogHandler() })
                )
                let running = Task { try await group.run() }

                _ = await transport.came.wait()
                await group.triggerGracefulShutdown()
                await until { agent.isShutDown }
                // The agent waits for what it has signed, and the others for the agent.
                #expect(ends.value == [])
                #expect(agent.health.isRunning)
                transport.mayGo.raise()
                try await running.value

                #expect(ends.value == ["agent", "desk", "fleet", "client", "store"])
                #expect(transport.count.value == 1)
                let statuses = await emulator.operations().map(\.status.rawValue).sorted()
                #expect(statuses == ["APPROVED", "PENDING"])
                await #expect(throws: MobileTokenError.self) { try await store.activationIDs() }
                // The open decision was recorded while the store was open.
                #expect(receipts.kinds.value == ["intentWritten", "outcomeRecorded"])
                await transport.base.shutdown()
            }
        }

        /// A service that is canceled, and not shut down, ends as it did.
        @Test func aCanceledGroupEndsToo() async throws {
            try await withEmulator { emulator in
                let client = try emulator.makeClient()
                let activation = try await emulator.makeActivation(
                    user: "alice",
                    password: Self.password,
                    client: client
                )
                let service = client.makeOperationsService(for: activation)
                let group = ServiceGroup(
                    services: [client, service],
                    logger: Logger(label: "group", factory: { _ in SwiftLogNoOpLogHandler() })
                )
                let running = Task { try await group.run() }
                await until { service.isPolling }
                running.cancel()
                _ = await running.result
                #expect(!service.isPolling)
            }
        }
    }
#endif
