import ExactJSON
import Foundation
import MobileTokenTesting
import PowerAuth
import Testing
import TestSupport

import MobileToken

/// An operation that cannot be read may wait for a decision: everybody who follows the list hears of it.
@Suite(.timeLimit(.minutes(5))) struct UnreadableOperationTests {
    private let clock = ManualClock()
    private let listed = Shared<[JSONValue]>([])
    private let channel: ScriptedChannel

    init() {
        let listed = self.listed
        self.channel = ScriptedChannel { _ in SampleAnswer.list(listed.value) }
    }

    /// Operations as a bank sent them after a change of its format.
    private static let unreadable: [JSONValue] = [
        operation.with("operationExpires", "2027-01-01T00:00:00"), operation.with("operationExpires", 1_800_000_000),
        operation.with("formData", nil), operation.with("formData", "title", nil),
        operation.with("formData", "message", 5), operation.with("data", nil),
    ]
    private static let operation = JSONValue.sampleOperation("a", expiresIn: 1_000_000)

    private func makeService() -> OperationsService {
        OperationsService(activation: self.channel, configuration: .even(self.clock))
    }

    @Test(arguments: unreadable) func aListNamesItWithItsReason(operation: JSONValue) async throws {
        self.listed.value = [operation]
        let list = try await self.makeService().fetchList()
        #expect(list.operations.isEmpty)
        #expect(list.unreadable.map(\.id) == ["a"])
        #expect(list.unreadable.first?.description.hasPrefix("a: responseObject[0].") == true)
    }

    @Test func eventsTellOfItOnceAndWhenItIsOver() async throws {
        let service = self.makeService()
        var events = service.events().makeAsyncIterator()
        var seen: [String] = []
        for operation in [Self.unreadable[0], Self.unreadable[0], Self.operation] {
            self.listed.value = [operation]
            try await service.operations()
            while let event = await events.next(), event.name != "loading false" { seen.append(event.name) }
        }
        #expect(
            seen == [
                "loading true", "unreadable a", "loading true", "loading true", "changed a", "unreadable ",
            ]
        )
    }

    @Test(arguments: unreadable) func waitingForItEndsAtOnceWithTheReason(operation: JSONValue) async throws {
        self.listed.value = [operation]
        let error = try await #require(throws: MobileTokenError.self) {
            try await self.makeService().waitUntilDecided("a", within: .seconds(60))
        }
        #expect(error.code == .invalidResponse && error.message.contains("responseObject[0]"))
    }

    @Test func whatTurnsUnreadableHasNotDisappeared() async throws {
        let service = self.makeService()
        self.listed.value = [Self.operation]
        try await service.operations()
        var changes = service.changes().makeAsyncIterator()
        _ = await changes.next()
        self.listed.value = [Self.unreadable[0]]
        try await service.operations()
        #expect(await changes.next()?.removed.map(\.reason) == [.unreadable])
    }

    @Test func anAgentReportsItOnceAndIsNotWell() async throws {
        self.listed.value = [Self.unreadable[0]]
        let agent = try ApprovalAgent(
            operations: self.makeService(),
            factors: { .possessionAndKnowledge(password: "1234") },
            configuration: altered(ApprovalAgent.Configuration()) { $0.random = { 0 } }
        ) { _ in .approve }
        var events = agent.events().makeAsyncIterator()
        let running = Task { try await agent.run() }
        while let event = await events.next(isolation: #isolation) {
            guard case .unreadable(let operation) = event.kind else { continue }
            #expect(operation.id == "a")
            #expect(event.description.hasSuffix("a: responseObject[0].operationExpires: not a date with an offset"))
            break
        }
        let health = agent.health
        #expect(health.fleet.unreadable == 1 && !health.isWell)
        try await running.stop()
    }
}
