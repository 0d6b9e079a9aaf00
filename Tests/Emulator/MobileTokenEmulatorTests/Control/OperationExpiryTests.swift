import Foundation
import MobileToken
import MobileTokenCloud
import MobileTokenTesting
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// The expiry of one operation, by hand.
@Suite(.timeLimit(.minutes(5))) struct OperationExpiryTests {
    @Test func oneOperationExpiresAndNothingElse() async throws {
        try await withEmulator { emulator async throws in
            let activation = try await emulator.makeActivation(user: "alice", password: "1234")
            let operations = OperationsService(activation: activation)
            let (first, second) = (
                try await emulator.cloud.createOperation("login", userID: "alice"),
                try await emulator.cloud.createOperation("login", userID: "alice")
            )
            let registration = try await emulator.cloud.register(userID: "bob")
            let listed = try await operations.operations()
            try await emulator.createCallback("http://127.0.0.1:1/")
            let shown = try await emulator.send("POST", "/_emulator/operations/\(first.id)/expire")
            #expect(shown.status == 200 && shown.text.contains("EXPIRED"))
            #expect(try await emulator.cloud.operation(first.id).status == .expired)
            #expect(try await emulator.cloud.operation(second.id).status == .pending)
            #expect(await emulator.activations().first { $0.id == registration.id }?.status == .created)
            let life = await emulator.history(ofOperation: first.id).filter { $0.deliveryID == nil }
            #expect(life.map(\.kind) == [.created, .shown, .expired])
            // The bank is told, and the device learns it as from a clock.
            #expect(emulator.deliveries().count == 1)
            #expect(try await operations.operations().map(\.id) == [second.id])
            let late = try #require(listed.first { $0.id == first.id })
            await #expect(throws: MobileTokenError.self) {
                try await operations.authorize(late, with: .possessionAndKnowledge(password: "1234"))
            }
            let again = try await emulator.send("POST", "/_emulator/operations/\(first.id)/expire")
            #expect(again.status == 409 && again.text.contains("The operation is EXPIRED"))
            await #expect { try await emulator.expireOperation("none") } throws: {
                ($0 as? EmulatorError)?.code == .notFound
            }
        }
    }

    @Test func anExpirationThatTheBankWasNotToldOfIsToldAfterARestart() throws {
        var (fixture, operation) = try BackendFixture.with { try $0.operation() }
        fixture.now = Date(milliseconds: try #require(fixture.backend.state.operations[operation.id]).expires)
        #expect(fixture.backend.settle(at: fixture.now).map(\.isTold) == [false])
        let document = try fixture.backend.exported()
        let configuration = BackendFixture.configuration
        var restarted = try Backend(document: document, configuration)
        let told = restarted.settle(at: fixture.now + 5)
        #expect(told.map(\.id) == [operation.id] && told.map(\.status) == ["EXPIRED"] && told.allSatisfy(\.isTold))
        // Once.
        var again = try Backend(document: try restarted.exported(), configuration)
        #expect(again.settle(at: fixture.now + 10).isEmpty)
    }

    @Test func theExpiryIsTheOperationsOwn() throws {
        var (fixture, operation) = try BackendFixture.with { try $0.operation() }
        fixture.advance(seconds: 5)
        _ = try fixture.backend.administer(.expire(operationID: operation.id), at: fixture.now)
        let expired = try #require(fixture.backend.state.operations[operation.id])
        #expect(expired.status == .expired && expired.expires == fixture.milliseconds)
        let state = try fixture.exportedState()
        #expect(fixture.backend.settle(at: fixture.now).isEmpty)
        #expect(try fixture.exportedState() == state)
    }
}
