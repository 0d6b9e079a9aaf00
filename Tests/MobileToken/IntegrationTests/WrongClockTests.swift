import ExactJSON
import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenTesting
import PowerAuth
import TestSupport
import Testing
import WireFacts

/// A process that has just started on a machine whose clock is wrong, with operations that an earlier process left it.
@Suite(.timeLimit(.minutes(5))) struct WrongClockTests {
    /// The endpoint that answers when the new process asks for the server's time.
    enum TimeEndpoint: CaseIterable {
        case works, isUnknown, cannotBeReached
    }

    /// A process with a clock of its own, and what it sent.
    private struct Process {
        let service: OperationsService
        let sent = Shared<[HTTPRequest]>([])

        init(
            _ emulator: Emulator,
            activation id: String,
            store: ActivationStore,
            clockError: TimeInterval,
            timeEndpoint: TimeEndpoint = .works
        ) async throws {
            let sent = self.sent
            let transport = try InterceptingTransport { request, deliver in
                sent.update { $0.append(request) }
                if request.url.hasSuffix("/pa/v3/status") {
                    switch timeEndpoint {
                    case .works: break
                    case .isUnknown: return HTTPResponse(status: 404)
                    case .cannotBeReached: throw HTTPTransportError(.timeout)
                    }
                }
                return try await deliver(request)
            }
            let client = try emulator.makeClient {
                $0.transport = transport
                $0.store = store
                $0.wallClock = { Date() + clockError }
            }
            let activation = try await client.activation(id: id)
            self.service = OperationsService(activation: activation)
        }

        var calls: [String] { self.sent.value.compactMap { $0.url.split(separator: "/").last.map(String.init) } }
    }

    private let store = ActivationStore.inMemory()

    /// An activation with a token, and an operation of it.
    private func prepare(_ emulator: Emulator) async throws -> (id: String, operation: UserOperation) {
        let client = try emulator.makeClient { $0.store = self.store }
        let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
        let operation = try await emulator.offer(to: "alice", on: OperationsService(activation: activation))
        return (activation.activationID, operation)
    }

    @Test(arguments: TimeEndpoint.allCases, [3600, -3600] as [TimeInterval])
    func aValidOperationIsAuthorized(timeEndpoint: TimeEndpoint, clockError: TimeInterval) async throws {
        try await withEmulator { emulator in
            let (id, operation) = try await self.prepare(emulator)
            let process = try await Process(
                emulator,
                activation: id,
                store: self.store,
                clockError: clockError,
                timeEndpoint: timeEndpoint
            )
            try await process.service.authorize(operation, with: .twoFactors)
            #expect(try await emulator.status(of: operation) == .approved)
            #expect(process.calls.first == "status")

            // An endpoint that does not answer is not waited for each time.
            let next = try await emulator.cloud.createOperation("login", userID: "alice")
            try await process.service.reject(LocalOperation(id: next.id, data: ""))
            #expect(process.sent.value.count { $0.url.hasSuffix("/pa/v3/status") } == 1)
        }
    }

    @Test func anExpiredOperationIsRefusedByTheServersTimeWithoutASignature() async throws {
        try await withEmulator { emulator in
            let (id, operation) = try await self.prepare(emulator)
            // An hour behind, the operation would seem to have time left.
            let process = try await Process(emulator, activation: id, store: self.store, clockError: -3600)
            await emulator.clock.advance(by: .seconds(1800))
            let code = try await errorCode { try await process.service.authorize(operation, with: .twoFactors) }
            #expect(code == .authorizeExpired)
            #expect(!process.sent.value.contains { $0.isSigned })
        }
    }

    @Test(.wireFact("2.3")) func theTimesSentWithAProximityCodeAreTheServers() async throws {
        try await withEmulator { emulator in
            var (id, operation) = try await self.prepare(emulator)
            let process = try await Process(emulator, activation: id, store: self.store, clockError: 3600)
            operation.proximityCheck = UserOperation.ProximityCheck(
                totp: "12345678",
                source: .deepLink,
                localDate: Date() + 3600 - 300  // five minutes ago, by the clock of this process
            )
            try await process.service.authorize(operation, with: .twoFactors)
            let request = try #require(process.sent.value.last { $0.url.hasSuffix("/operation/authorize") })
            let check = try JSONValue(parsing: request.body ?? [])["requestObject"]?["proximityCheck"]
            let sent = try #require(check?["timestampSent"]?.string.flatMap { ISO8601.date(from: $0) })
            #expect(abs(sent.timeIntervalSinceNow) < 60)
            let received = try #require(check?["timestampReceived"]?.string.flatMap { ISO8601.date(from: $0) })
            #expect(abs(received.timeIntervalSinceNow + 300) < 60)
        }
    }

    @Test func theListTellsTheTimeWhereNothingElseDoes() async throws {
        try await withEmulator { emulator in
            let (id, _) = try await self.prepare(emulator)
            let process = try await Process(
                emulator,
                activation: id,
                store: self.store,
                clockError: -240,  // which the server still accepts in a token
                timeEndpoint: .cannotBeReached
            )
            #expect(process.service.currentServerDate == nil)
            try await process.service.operations()
            #expect(process.calls == ["status", "list"])
            #expect(abs(try #require(process.service.currentServerDate).timeIntervalSinceNow) < 60)
        }
    }
}
