import Foundation
import HTTPClientTransport
import MobileTokenCloud
import MobileTokenEmulator
import MobileTokenTesting
import Testing
import WireFacts

/// The client at the development server, over sockets.
@Suite(.wireFact("6.1", "6.2"), .timeLimit(.minutes(2))) struct EmulatorCallTests {
    @Test func anOperationIsCreatedShownAndCanceled() async throws {
        try await withCloud { emulator, cloud in
            let before = Date()
            var request = CloudClient.NewOperation(template: "payment", userID: "alice")
            request.parameters = ["amount": "63.99", "currency": "EUR"]
            request.expires = Date(timeIntervalSince1970: (before.timeIntervalSince1970 + 600).rounded())
            let created = try await cloud.createOperation(request)
            #expect(created.status == .pending && created.userID == "alice" && created.expires == request.expires)
            #expect(created.parameters["amount"] == "63.99" && created.failureCount == 0)
            #expect(abs(try #require(created.date).timeIntervalSince(before)) < 60)
            #expect(try await cloud.operation(created.id).parameters == created.parameters)
            #expect(try await cloud.cancelOperation(created.id, reason: "MISTAKE").status == .canceled)
            #expect(await emulator.operations().first?.status == "CANCELED")
            let over = try await cloudError { try await cloud.cancelOperation(created.id) }
            #expect(over.code == .operationNotChangeable && !over.isOutcomeUnknown)
            #expect(try await cloudError { try await cloud.operation("none") }.code == .operationNotFound)
        }
    }

    @Test func anApprovalIsSeen() async throws {
        try await withCloud { emulator, cloud in
            let device = try await emulator.makeDevice(userID: "alice", rule: .init(.never))
            let registration = try await cloud.registration(device.id)
            #expect(registration.status == .active && registration.userID == "alice")
            #expect(registration.applicationID == "mobile-token")
            let operation = try await cloud.createOperation(.init(template: "payment", userID: "alice"))
            let code = try await cloud.offlineCode(operation: operation.id, registration: registration.id)
            let lines = code.content.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count > 4 && lines[0] == operation.id && lines[3] == operation.data ?? "")
            try await emulator.decide(operation.id, .approve, byDevice: device.id)
            #expect(try await cloud.operation(operation.id).status == .approved)
            let late = try await cloudError {
                try await cloud.offlineCode(operation: operation.id, registration: registration.id)
            }
            #expect(late.code == .operationNotChangeable)
        }
    }

    @Test func theServersRefusalsHaveTheirCodes() async throws {
        try await withCloud { _, cloud in
            #expect(try await cloudError { try await cloud.registration("none") }.code == .registrationNotFound)
            let template = try await cloudError {
                try await cloud.createOperation(.init(template: "none", userID: "alice"))
            }
            #expect(template.code == .invalidRequest && template.violations.map(\.field) == ["template"])
        }
        try await withCloud(password: "wrong") { _, cloud in
            let error = try await cloudError { try await cloud.operation("7") }
            #expect(error.code == .unauthorized && error.serverCode == "HTTP_401")
        }
    }
}

/// Runs `body` with a development server and a client of its cloud API.
func withCloud(
    password: String? = nil,
    _ configuration: Emulator.Configuration = .init(),
    _ body: (Emulator, CloudClient) async throws -> Void
) async throws {
    try await withEmulator(configuration) { emulator in
        let cloud = try CloudClient(
            baseURL: emulator.cloudURL + "/powerauth-cloud",
            credentials: .init(user: emulator.cloudUser, password: password ?? emulator.cloudPassword)
        )
        try await body(emulator, cloud)
        await cloud.shutdown()
    }
}
