import EmulatorMessages
import ExactJSON
import Foundation
import MobileToken
import MobileTokenTesting
import TestSupport
import Testing

@testable import MobileTokenEmulator

/// The cost of a change does not depend on the amount of data.
@Suite(.timeLimit(.minutes(5))) struct DataFileTests {
    /// An exported state with so many operations, made from one.
    private func document(operations count: Int) async throws -> Data {
        let emulator = try await Emulator.start()
        try await emulator.cloud.createOperation("payment", userID: "somebody else")
        var document = try JSONValue(parsing: Array(try await emulator.exported())).object ?? [:]
        await emulator.stop()
        var state = try #require(document["state"]?.object)
        let template = try #require(state["operations"]?["operations"]?.array?.first?.object)
        let ids = (0..<count).map { "operation-\($0)" }
        let operations = ids.map { id in
            var operation = template
            operation["id"] = .string(id)
            return JSONValue.object(operation)
        }
        state["operations"] = [
            "operations": .array(operations),
            "claims": ["somebody else": .array(ids.map { .string($0) })],
        ]
        document["state"] = .object(state)
        return Data(JSONValue.object(document).serialized())
    }

    private struct Cost: Equatable {
        var created: DataFile.Statistics
        var approved: DataFile.Statistics
    }

    private func cost(among count: Int) async throws -> Cost {
        let folder = try TemporaryFolder()
        var configuration = Emulator.Configuration()
        configuration.dataFile = folder.file("state")
        configuration.initialState = try await self.document(operations: count)
        let (cost, approvedID) = try await withEmulator(configuration) { emulator async throws in
            try await self.cost(in: emulator, among: count)
        }
        // And all of it is there again.
        try await withEmulator(configuration) { emulator async throws in
            #expect(await emulator.operations().count == count + 1)
            #expect(try await emulator.cloud.operation(approvedID).status == .approved)
        }
        return cost
    }

    private func cost(in emulator: Emulator, among count: Int) async throws -> (Cost, approvedID: String) {
        #expect(await emulator.operations().count == count)
        let activation = try await emulator.makeActivation(user: "alice", password: "1234")
        let service = OperationsService(activation: activation)
        #expect(try await service.operations() == [])  // has a token now

        func written(_ body: () async throws -> Void) async throws -> DataFile.Statistics {
            let before = try #require(await emulator.core.dataFileStatistics)
            try await body()
            let after = try #require(await emulator.core.dataFileStatistics)
            return DataFile.Statistics(
                transactions: after.transactions - before.transactions,
                rows: after.rows - before.rows,
                bytes: after.bytes - before.bytes
            )
        }
        let created = try await written { try await emulator.cloud.createOperation("payment", userID: "alice") }
        let operation = try #require(try await service.operations().first)
        let approved = try await written {
            try await service.authorize(operation, with: .possessionAndKnowledge(password: "1234"))
        }
        #expect(try await emulator.cloud.operation(operation.id).status == .approved)
        return (Cost(created: created, approved: approved), operation.id)
    }

    @Test func anApprovalWritesTheSameAmongTenThousandOperations() async throws {
        let (few, many) = (try await self.cost(among: 10), try await self.cost(among: 10_000))
        #expect(few.created.rows == 2)  // the operation, and whose it is
        #expect(few.approved.rows == 2)  // the operation, and the activation's counter
        #expect(many.created.rows == few.created.rows)
        #expect(many.approved.rows == few.approved.rows)
        #expect(many.approved.transactions == 1)
        #expect(many.approved.bytes < 10_000)
        #expect(abs(many.approved.bytes - few.approved.bytes) < 100)
    }

    @Test func theFingerprintIsTheSameOnBothSides() async throws {
        try await withEmulator { emulator in
            let registration = try await emulator.cloud.register(userID: "alice")
            #expect(await emulator.activations().first?.fingerprint == nil)
            let client = try emulator.makeClient()
            let activation = try await client.activate(code: registration.activationQRCode, password: "1234")
            // Before the commit: it is what the one who commits compares.
            #expect(await emulator.summary(of: activation)?.status == .pendingCommit)
            #expect(await emulator.summary(of: activation)?.fingerprint == activation.fingerprint)
            #expect(activation.fingerprint.utf8.count == 8)
            let path = "/v2/registrations/\(registration.id)"
            let request = ReceivedRequest(method: "GET", path: path)
            let response = await emulator.core.respond(to: request, from: .process)
            let body = if case .bytes(let bytes) = response.body { bytes } else { [UInt8]() }
            #expect(try JSONValue(parsing: body)["activationFingerprint"]?.string == activation.fingerprint)
        }
    }
}
