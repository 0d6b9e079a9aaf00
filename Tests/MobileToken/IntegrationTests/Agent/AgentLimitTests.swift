import DecisionReceipts
import ExactJSON
import Foundation
import MobileToken
import MobileTokenTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct AgentLimitTests {
    private typealias Limit = ApprovalAgent.Limit

    private let clock = ManualClock()
    private let traffic = Traffic()
    private let store = ActivationStore.inMemory()

    private func makeClient(_ emulator: Emulator) throws -> MobileTokenClient {
        try emulator.makeClient {
            $0.store = self.store
            $0.clock = self.clock
            $0.transport = try self.traffic.transport()
        }
    }

    /// An agent that approves everything, until `body` returns.
    private func run(
        _ client: MobileTokenClient,
        _ limits: [Limit],
        userID: @escaping @Sendable (String) -> String? = { _ in nil },
        policy: @escaping ApprovalAgent.Policy = { _ in .approve },
        _ body: (ApprovalAgent, OperationsFleet) async throws -> Void
    ) async throws {
        var configuration = ApprovalAgent.Configuration.patient
        configuration.limits = limits
        configuration.userID = userID
        configuration.reviewsIncomplete = true
        let fleet = client.makeFleet()
        let agent = ApprovalAgent(
            fleet: fleet,
            factors: { try await $0.unlockKnowledge(password: password) },
            configuration: configuration,
            policy: policy
        )
        try await self.traffic.run(agent, self.clock) { _ in try await body(agent, fleet) }
    }

    /// Returns the limits because of which operations are left, once there are so many.
    private func limits(_ count: Int, of agent: ApprovalAgent) async -> [String: String] {
        var found: [String: String] = [:]
        for await event in agent.events() {
            if case .left(.limitReached(let limit)) = event.kind, let id = event.operation?.id { found[id] = limit }
            if found.count == count { break }
        }
        return found
    }

    private func statuses(_ emulator: Emulator, _ ids: [String]) async throws -> [CloudClient.OperationStatus] {
        var statuses: [CloudClient.OperationStatus] = []
        for id in ids { statuses.append(try await emulator.cloud.operation(id).status) }
        return statuses
    }

    private func charges(_ client: MobileTokenClient) async throws -> [[String]] {
        try await client.allReceipts().map { receipt in
            receipt.intent.charges.map { "\($0.limit): \($0.amount) \($0.currency ?? "")" }
        }
    }

    @Test func whatIsOverALimitIsLeftToPeopleWhateverRestarts() async throws {
        try await withEmulator { emulator in
            let client = try self.makeClient(emulator)
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            var ids: [String] = []
            for _ in 0..<4 { ids.append(try await emulator.cloud.createOperation("login", userID: "alice").id) }
            let day = Limit.Window.rolling(.hours(24))
            try await self.run(client, [.init("two a day", of: .activation, within: day, count: 2)]) { agent, _ in
                let left = await self.limits(2, of: agent)
                #expect(Set(left.values) == ["two a day"])
                let use = try await agent.limitUse(of: activation.activationID)
                #expect(use.map(\.used) == [2] && use.map(\.allowed) == [2] && use.map(\.isClosed) == [false])
            }
            // Nothing was signed for the others.
            #expect(try await self.statuses(emulator, ids).filter { $0 == .approved }.count == 2)
            #expect(try await self.charges(client) == Array(repeating: ["two a day: 1 "], count: 2))
            // After a restart, with another name and number.
            try await self.run(client, [.init("three", of: .activation, within: day, count: 3)]) { agent, _ in
                #expect(await self.limits(1, of: agent).count == 1)
            }
            #expect(try await self.statuses(emulator, ids).filter { $0 == .approved }.count == 3)
            #expect(await emulator.refusals() == [])
        }
    }

    /// The signed data are charged: no text changes it, and what cannot be read is over the limit.
    @Test func sumsAreThoseOfTheSignedData() async throws {
        try await withEmulator { emulator in
            let client = try self.makeClient(emulator)
            _ = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let account = "CZ5508000000001234567899"
            let data = [
                "A1*A60CZK*I\(account)", "A1*A40.01CZK*I\(account)", "A1*A40CZK*Q19-2000145399/0800",
                "A1*A1EUR*I\(account)",
                "A1*A1CZK*Xsecret", "free text", "A1*A-1CZK*I\(account)", "A1*A0.00001CZK*Q1", "A2*R1",
            ]
            var ids: [String] = []
            for data in data {
                let operation = try await emulator.cloud.createOperation(
                    named: "payment",
                    data: data,
                    formData: ["title": "A", "message": "B", "attributes": []],
                    userID: "alice"
                )
                ids.append(operation.id)
            }
            let limits: [Limit] = [
                .init("sum a day", of: .user, within: .day(in: .gmt), sum: ["CZK": 100.02]),
                .init("per payee", of: .payee, within: .rolling(.hours(1)), sum: ["CZK": 100]),
            ]
            try await self.run(client, limits, userID: { _ in "alice" }) { agent, _ in
                let left = await self.limits(5, of: agent)
                #expect(left[ids[1]] == "per payee")
                #expect([3, 4, 5, 6].map { left[ids[$0]] } == Array(repeating: "sum a day", count: 4))
                for index in [0, 2, 7, 8] { #expect(await emulator.decision(on: ids[index])?.status == .approved) }
            }
            #expect(
                Set(try await self.charges(client)) == [
                    ["sum a day: 60 CZK", "per payee: 60 CZK"], ["sum a day: 40 CZK", "per payee: 40 CZK"],
                    ["sum a day: 0.0001 CZK", "per payee: 0.0001 CZK"], [],
                ]
            )
        }
    }

    /// The page's scenario, with the page's limit: a tester sees it hold, also when the agent starts again.
    @Test func theScenarioOfThePageShowsThatALimitHolds() async throws {
        let page = URL(filePath: #filePath).appending(
            path: "../../../../../Sources/MobileToken/MobileToken/MobileToken.docc/Limits.md"
        )
        let text = try String(contentsOf: page.standardized, encoding: .utf8)
        let scenario = try #require(
            text.components(separatedBy: "```json\n").last?.components(separatedBy: "\n```").first
        )
        try await withEmulator { emulator in
            let client = try self.makeClient(emulator)
            _ = try await emulator.makeActivation(user: "alice", password: password, client: client)
            try await emulator.play(scenario: Data(scenario.utf8))
            let limit = Limit("per payee", of: .payee, within: .rolling(.hours(24)), sum: ["CZK": 100])
            for _ in 0..<2 {
                try await self.run(client, [limit]) { agent, _ in
                    #expect(await Array(self.limits(1, of: agent).values) == ["per payee"])
                    await until { agent.health.openOperationCount == 0 }
                }
            }
            let statuses = await emulator.operations().map(\.status)
            #expect(statuses.filter { $0 == .approved }.count == 2 && statuses.filter { $0 == .pending }.count == 1)
        }
    }

    /// The run counts its own approvals, in the order in which the operations were made.
    @Test func aDryRunShowsWhatALimitWouldStop() async throws {
        try await withEmulator { emulator in
            let client = try self.makeClient(emulator)
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            for _ in 0..<3 { try await emulator.cloud.createOperation("login", userID: "alice") }
            let operations = try await client.makeOperationsService(for: activation).operations()
            var configuration = ApprovalAgent.Configuration()
            configuration.limits = [.init("two", of: .template, within: .day(in: .gmt), count: 2)]
            let agent = ApprovalAgent(
                fleet: client.makeFleet(),
                factors: { _ in .possession },
                configuration: configuration
            ) { _ in .approve }
            // The server lists the newest first.
            let lines = await agent.dryRun(over: operations, of: activation.activationID).lines
            #expect(lines.map(\.leaveReason?.name) == ["limitReached", nil, nil])
            #expect(lines.first?.verdict == .deferToPeople(reason: "two"))
        }
    }

    @Test func anUnknownUserIsOverTheLimitOfUsers() async throws {
        try await withEmulator { emulator in
            let client = try self.makeClient(emulator)
            _ = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let login = try await emulator.cloud.createOperation("login", userID: "alice")
            try await self.run(client, [.init("users", of: .user, within: .day(in: .gmt), count: 9)]) { agent, _ in
                #expect(await self.limits(1, of: agent) == [login.id: "users"])
            }
        }
    }

    /// The server's own refusal gives a charge back.
    @Test func whatTheServerRefusesIsNotCounted() async throws {
        try await withEmulator { emulator in
            let client = try self.makeClient(emulator)
            _ = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let canceled = try await emulator.cloud.createOperation("login", userID: "alice")
            let one = Limit("one", of: .fleet, within: .rolling(.minutes(30)), count: 1)
            try await self.run(
                client,
                [one],
                policy: { review in
                    if review.operation.id == canceled.id { _ = try await emulator.cloud.cancelOperation(canceled.id) }
                    return .approve
                }
            ) { agent, _ in
                for await event in agent.events() { if case .finishedElsewhere = event.kind { break } }
                let login = try await emulator.cloud.createOperation("login", userID: "alice")
                #expect(await emulator.decision(on: login.id)?.status == .approved)
                let second = try await emulator.cloud.createOperation("login", userID: "alice")
                #expect(await self.limits(1, of: agent) == [second.id: "one"])
            }
        }
    }

    @Test(arguments: [false, true]) func aPersonIsBoundedByLimitsThatIncludePeople(_ isIncluded: Bool) async throws {
        try await withEmulator { emulator in
            let client = try self.makeClient(emulator)
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let ids = try await [
                emulator.cloud.createOperation("login", userID: "alice").id,
                emulator.cloud.createOperation("login", userID: "alice").id,
            ]
            let limit = Limit("one", of: .activation, within: .rolling(.days(1)), count: 1, includingPeople: isIncluded)
            try await self.run(client, [limit], policy: { _ in .deferToPeople }) { _, fleet in
                let service = try await fleet.service(of: activation.activationID)
                for id in ids {
                    do {
                        try await service.authorize(try await service.detail(id: id), with: .twoFactors)
                        #expect(id == ids[0] || !isIncluded)
                    } catch let error as MobileTokenError {
                        #expect(error.code == .limitReached && error.message.contains("'one'"))
                        #expect(id == ids[1] && isIncluded)
                    }
                }
                // A rejection is none of a limit's business.
                if isIncluded { try await service.reject(try await service.detail(id: ids[1])) }
            }
            #expect(
                try await self.statuses(emulator, ids)
                    == (isIncluded ? [.approved, .rejected] : [.approved, .approved])
            )
        }
    }

    @Test(
        arguments: [
            [Limit("", of: .fleet, within: .day(in: .gmt), count: 1)],
            [Limit("a", of: .fleet, within: .day(in: .gmt))],
            [Limit("a", of: .fleet, within: .rolling(.seconds(59)), count: 1)],
            [Limit("a", of: .fleet, within: .rolling(.days(32)), count: 1)],
            [Limit("a", of: .fleet, within: .rolling(.hours(.max)), count: 1)],
            [Limit("a", of: .fleet, within: .day(in: .gmt), count: -1)],
            [Limit("a", of: .fleet, within: .day(in: .gmt), sum: ["CZK": -1])],
            [Limit("a", of: .fleet, within: .day(in: .gmt), sum: ["czk": 1])],
            [Limit("a", of: .fleet, within: .day(in: .gmt), sum: ["CZK": .nan])],
            Array(repeating: Limit("a", of: .fleet, within: .day(in: .gmt), count: 1), count: 2),
            (0..<9).map { Limit("\($0)", of: .fleet, within: .day(in: .gmt), count: 1) },
        ]
    ) private func unusableLimitsStartNothing(_ limits: [Limit]) async throws {
        try await withEmulator { emulator in
            var configuration = ApprovalAgent.Configuration()
            configuration.limits = limits
            let fleet = try self.makeClient(emulator).makeFleet()
            let agent = ApprovalAgent(fleet: fleet, factors: { _ in .possession }, configuration: configuration) { _ in
                .approve
            }
            let error = await #expect(throws: MobileTokenError.self) { try await agent.run() }
            #expect(error?.code == .invalidConfiguration && error?.message.hasPrefix("limits: ") == true)
        }
    }
}
