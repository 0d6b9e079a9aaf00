import MobileToken
import MobileTokenTesting
import Testing
import TestSupport

/// A fleet whose process is assigned a part of the activations.
@Suite(.timeLimit(.minutes(5))) struct FleetMembershipTests {
    private let membership = SteeredMembership()

    /// Runs a fleet of two buckets, with an activation at least in each.
    ///
    /// - Parameter rate: Requests a second; without another, as many as chance makes activations may be polled at one moment.
    private func withFleet(
        rate: Double = 100_000,
        _ body: (FleetStage, OperationsFleet, [[String]]) async throws -> Void
    ) async throws {
        try await FleetStage.with { stage, client in
            var ids: [[String]] = [[], []]
            while ids.contains([]) {
                for id in try await stage.activate(1, client) {
                    ids[OperationsFleet.Buckets.bucket(of: id, count: 2)].append(id)
                }
            }
            var configuration = FleetStage.configuration
            configuration.division = self.membership
            configuration.limits.requestsPerSecond = rate
            let fleet = client.makeFleet(configuration: configuration)
            try await stage.running(fleet) {
                await self.membership.waitForStart()
                try await body(stage, fleet, ids)
            }
        }
    }

    @Test func onlyWhatIsAssignedIsPolledAndDecidedOn() async throws {
        try await self.withFleet { stage, fleet, ids in
            #expect(fleet.health.elsewhereCount == ids.joined().count)
            await self.membership.assign([0])
            await stage.advance(fleet) { fleet.health.counts == [.active: ids[0].count] }
            #expect(fleet.health.elsewhereCount == ids[1].count)
            #expect(fleet.state(of: ids[1][0]) == nil)
            #expect(await fleet.refusal(of: ids[1][0]) == .notPolledHere)
            #expect(await fleet.refusal(of: "nobody") == .notPolledHere)
            #expect(await fleet.refusal(of: ids[0][0]) == nil)
            // By hand any process may work with it.
            let byHand = try await fleet.service(of: ids[1][0]).operations()
            #expect(byHand.isEmpty)
        }
    }

    @Test func whatIsLostLeavesTheStreamAndWhatIsTakenOverIsPolledAtOnce() async throws {
        try await self.withFleet { stage, fleet, ids in
            for number in 0..<ids.joined().count {
                _ = try await stage.emulator.cloud.createOperation("login", userID: "user \(number)")
            }
            await self.membership.assign([0])
            await stage.advance(fleet) { fleet.health.counts == [.active: ids[0].count] }
            var changes = fleet.changes().makeAsyncIterator()
            while let first = await changes.next(), first.activationID != ids[0][0] {}

            await self.membership.assign([1])
            await until { fleet.health.counts == [.active: ids[1].count] }  // the clock stands still
            var (lost, taken) = (0, 0)
            while lost == 0 || taken == 0, let news = await changes.next() {
                lost += news.change.removed.count { $0.reason == .left }
                taken += ids[1].contains(news.activationID) ? news.change.added.count : 0
            }

            // And back: the list is read anew.
            await self.membership.assign([0, 1])
            await until { fleet.health.counts == [.active: ids.joined().count] }
            while let news = await changes.next(), news.activationID != ids[0][0] || news.change.added.isEmpty {}
        }
    }

    /// Others have decided meanwhile.
    @Test func whatWasListedBeforeItWasLostIsForgotten() async throws {
        try await self.withFleet { stage, fleet, ids in
            var operations: [String] = []
            for number in 0..<ids.joined().count {
                operations.append(try await stage.emulator.cloud.createOperation("login", userID: "user \(number)").id)
            }
            await self.membership.assign([0, 1])
            await stage.advance(fleet) { fleet.health.counts == [.active: ids.joined().count] }
            await self.membership.assign([1])
            for id in operations { try await stage.emulator.cloud.cancelOperation(id) }
            operations = []
            for number in 0..<ids.joined().count {
                operations.append(try await stage.emulator.cloud.createOperation("login", userID: "user \(number)").id)
            }
            var changes = fleet.changes().makeAsyncIterator()
            await self.membership.assign([0, 1])
            var first: [String] = []
            while first.isEmpty, let news = await changes.next() {
                if news.activationID == ids[0][0] { first = news.change.added.map(\.id) }
            }
            #expect(first.count == 1)
            #expect(operations.contains(first.first ?? ""))
        }
    }

    @Test func nothingIsGivenAwayWhileItIsDecidedOn() async throws {
        try await self.withFleet { stage, fleet, ids in
            await self.membership.assign([0, 1])
            await stage.advance(fleet) { fleet.health.counts == [.active: ids.joined().count] }
            let door = Door()
            let deciding = Task { try await fleet.withDecision(on: ids[0][0]) { _ in await door.pass() } }
            await door.waitForVisitors()
            #expect(fleet.health.decisionsInFlight == 1)
            let isGiven = Shared(false)
            let giving = Task {
                await self.membership.assign([1])
                isGiven.value = true
            }
            await until { fleet.state(of: ids[0][0]) == nil }
            #expect(!isGiven.value)
            #expect(await fleet.refusal(of: ids[0][0]) == .notPolledHere)
            door.open()
            await giving.value
            try await deciding.value
            #expect(fleet.health.decisionsInFlight == 0)
        }
    }

    @Test func whoHasLostItUnawaresDecidesNothing() async throws {
        try await self.withFleet { stage, fleet, ids in
            await self.membership.assign([0, 1])
            await stage.advance(fleet) { fleet.health.counts == [.active: ids.joined().count] }
            self.membership.lose([0])
            #expect(await fleet.refusal(of: ids[0][0]) == .notPolledHere)
            #expect(await fleet.refusal(of: ids[1][0]) == nil)
        }
    }

    /// It stood still between its look and its signature: another process decides by now.
    @Test func whoLosesItBeforeItSignsDecidesNothing() async throws {
        try await self.withFleet { stage, fleet, ids in
            await self.membership.assign([0, 1])
            await stage.advance(fleet) { fleet.health.counts == [.active: ids.joined().count] }
            for number in 0..<ids.joined().count {
                _ = try await stage.emulator.cloud.createOperation("login", userID: "user \(number)")
            }
            let error = await #expect(throws: MobileTokenError.self) {
                try await fleet.withDecision(on: ids[0][0]) { operations in
                    let operation = try #require(try await operations.operations().first)
                    self.membership.lose([0])
                    try await operations.reject(operation)
                }
            }
            #expect(error?.code == .notPolledHere)
            let byHand = try await fleet.service(of: ids[0][0])
            let operation = try #require(try await byHand.operations().first)
            try await byHand.reject(operation)
            #expect(try await byHand.operations().isEmpty)
        }
    }

    @Test func processesDivideTheCap() async throws {
        try await self.withFleet(rate: 200) { stage, fleet, ids in
            await self.membership.assign([0, 1], processCount: 400)  // of 200 requests a second
            await stage.advance(fleet) { fleet.health.counts == [.active: ids.joined().count] }
            let times = stage.requests.value.suffix(2 * ids.joined().count).map(\.time)
            for start in times { #expect(times.count { $0 >= start && $0 < start + .seconds(2) } <= 1) }
        }
    }
}

extension OperationsFleet {
    /// Returns the reason why no decision on an activation's operations may be made here; `nil` when one may.
    fileprivate func refusal(of id: String) async -> MobileTokenError.Code? {
        do {
            try await self.withDecision(on: id) { _ in }
            return nil
        } catch {
            return (error as? MobileTokenError)?.code
        }
    }
}
