import Testing

@testable import MobileTokenEmulator

/// The tasks of virtual devices, as a value: no keys, no server, no time but that which is given.
@Suite struct DeviceRosterTests {
    private func roster(_ rule: Emulator.DeviceRule, ids: [String] = ["a"]) -> DeviceRoster {
        var roster = DeviceRoster()
        for id in ids { roster[id] = .init(id, name: id, version: "3.3", rule, at: 0) }
        return roster
    }

    /// Lets a device look, and find operations.
    private func look(_ roster: inout DeviceRoster, _ id: String = "a", found: [String], at now: Int64) {
        #expect(roster.takeJobs(at: now) == [.look(deviceID: id)])
        roster.finishLook(id, found: found, at: now)
    }

    /// The operations that are to be decided now, and the decisions.
    private func decisions(_ roster: inout DeviceRoster, at now: Int64) -> [String] {
        roster.takeJobs(at: now).map { job in
            switch job {
            case .look(let id): "\(id) looks"
            case .decide(let id, let task): "\(id) \(task.decision) \(task.operationID)"
            }
        }
    }

    private func decide(
        _ roster: inout DeviceRoster,
        _ operation: String,
        _ decision: Emulator.DeviceDecision,
        by id: String = "a"
    ) -> Bool {
        roster.decide(operation, decision, reason: "NO", proximityCode: nil, by: id, at: 0)
    }

    @Test func aNewDeviceLooksAndDecidesOneAfterTheOtherOldestFirst() {
        var roster = self.roster(.init())
        self.look(&roster, found: ["2", "1"], at: 5)
        #expect(self.decisions(&roster, at: 5) == ["a approve 1"])
        #expect(self.decisions(&roster, at: 5) == [])  // it is busy
        roster.finish("1", of: "a", nil, at: 6)
        #expect(self.decisions(&roster, at: 6) == ["a approve 2"])
        roster.finish("2", of: "a", nil, at: 7)
        #expect(!roster.hasJobs(at: 1_000_000))
        #expect(roster["a"]?.tasks.map(\.state) == [.done, .done])
    }

    @Test func aDelayIsOfTheServersClock() {
        var roster = self.roster(.init(.reject, after: 2.5, reason: "NO"))
        self.look(&roster, found: ["1"], at: 1000)
        #expect(!roster.hasJobs(at: 3499))
        #expect(self.decisions(&roster, at: 3499) == [])
        #expect(roster.hasJobs(at: 3500))
        #expect(self.decisions(&roster, at: 3500) == ["a reject 1"])
        #expect(roster["a"]?.tasks.first?.reason == "NO")
    }

    @Test func whatIsSeenAgainIsDecidedOnce() {
        var roster = self.roster(.init(.wrongPassword))
        self.look(&roster, found: ["1"], at: 0)
        roster.look(at: 0) { $0 == "a" }
        self.look(&roster, found: ["1"], at: 0)
        #expect(self.decisions(&roster, at: 0) == ["a wrongPassword 1"])
        roster.finish("1", of: "a", .refused(reason: "401"), at: 0)
        roster.look(at: 0) { _ in true }
        self.look(&roster, found: ["1"], at: 0)
        #expect(self.decisions(&roster, at: 1_000_000) == [])
        #expect(roster["a"]?.tasks.map(\.failure) == ["401"])
    }

    @Test func aDeviceThatDecidesNothingOnlyLooks() {
        var roster = self.roster(.init(.never))
        self.look(&roster, found: ["1"], at: 0)
        #expect(!roster.hasJobs(at: 1_000_000))
    }

    @Test func anotherRuleDecidesWhatWaitsAndWhatFailedButNotWhatIsDone() {
        var roster = self.roster(.init(.approve, after: 60))
        self.look(&roster, found: ["3", "2", "1"], at: 0)
        #expect(self.decisions(&roster, at: 60_000) == ["a approve 1"])
        roster.setRule(.init(.reject), of: "a", at: 60_000)
        roster.finish("1", of: "a", .refused(reason: "401"), at: 60_000)
        // The server no longer lists what is done.
        self.look(&roster, found: ["3", "1"], at: 60_000)
        #expect(self.decisions(&roster, at: 60_000) == ["a reject 1"])
        roster.finish("1", of: "a", nil, at: 60_000)
        #expect(self.decisions(&roster, at: 60_000) == ["a reject 3"])
    }

    @Test func whatIsNoLongerThereIsForgotten() {
        var roster = self.roster(.init(.approve, after: 60))
        self.look(&roster, found: ["2", "1"], at: 0)
        roster.withdraw("1")
        #expect(roster["a"]?.tasks.map(\.operationID) == ["2"])
        roster.look(at: 1) { _ in true }
        self.look(&roster, found: [], at: 1)
        #expect(roster["a"]?.tasks == [])
    }

    // MARK: By hand

    @Test func aPersonDecidesNowWhateverTheRule() {
        var roster = self.roster(.init(.approve, after: 60))
        self.look(&roster, found: ["1"], at: 0)
        #expect(self.decide(&roster, "1", .reject) == true)
        #expect(roster["a"]?.tasks.map(\.isByHand) == [true])
        #expect(self.decide(&roster, "1", .approve) == false)
        #expect(self.decisions(&roster, at: 0) == ["a reject 1"])
        #expect(self.decide(&roster, "1", .approve) == false)
        roster.finish("1", of: "a", .unanswered(reason: "no network"), at: 0)
        // A person sees that, and decides whether to try again.
        #expect(roster["a"]?.tasks.map(\.state) == [.failed])
        #expect(self.decide(&roster, "1", .approve, by: "b") == false)
    }

    // MARK: Trouble

    @Test func whatGotNoResponseIsTriedAgainWithPausesAndAnEnd() {
        var roster = self.roster(.init())
        self.look(&roster, found: ["1"], at: 0)
        var now: Int64 = 0
        for attempt in 1...DeviceRoster.maximumAttempts {
            #expect(self.decisions(&roster, at: now) == ["a approve 1"], "\(attempt)")
            roster.finish("1", of: "a", .unanswered(reason: "reset"), at: now)
            #expect(self.decisions(&roster, at: now + DeviceRoster.retryPause - 1) == [])
            now += DeviceRoster.retryPause
        }
        #expect(self.decisions(&roster, at: now) == [])
        #expect(roster["a"]?.tasks.map(\.state) == [.failed])
        #expect(roster["a"]?.tasks.map(\.failure) == ["reset"])
    }

    @Test func aLookThatGotNoResponseIsRepeatedAndOneThatWasRefusedIsNot() {
        var roster = self.roster(.init())
        #expect(roster.takeJobs(at: 0) == [.look(deviceID: "a")])
        roster.failLook("a", .unanswered(reason: "reset"), at: 0)
        #expect(roster["a"]?.failure == "reset")
        #expect(!roster.hasJobs(at: DeviceRoster.retryPause - 1))
        #expect(roster.takeJobs(at: DeviceRoster.retryPause) == [.look(deviceID: "a")])
        roster.failLook("a", .refused(reason: "401"), at: 0)
        #expect(!roster.hasJobs(at: 1_000_000))
        roster.look(at: 1_000_000) { _ in true }
        self.look(&roster, found: [], at: 1_000_000)
        #expect(roster["a"]?.failure == nil)
    }

    @Test func aLookThatIsAskedForWhileOneIsUnderWayFollowsIt() {
        var roster = self.roster(.init())
        #expect(roster.takeJobs(at: 0) == [.look(deviceID: "a")])
        roster.look(at: 1) { _ in true }
        #expect(!roster.hasJobs(at: 1))
        roster.finishLook("a", found: [], at: 2)
        #expect(roster.takeJobs(at: 2) == [.look(deviceID: "a")])
    }

    // MARK: Many

    @Test func eachDeviceDoesOneThingAtATime() {
        var roster = self.roster(.init(), ids: ["a", "b", "c"])
        #expect(self.decisions(&roster, at: 0) == ["a looks", "b looks", "c looks"])
        roster.finishLook("b", found: ["1"], at: 0)
        roster["a"] = nil
        roster.finishLook("a", found: ["1"], at: 0)
        #expect(self.decisions(&roster, at: 0) == ["b approve 1"])
        #expect(roster.newestFirst.map(\.id) == ["c", "b"] && roster.count == 2)
    }

    @Test func whatWasUnderWayBeginsAnew() {
        var roster = self.roster(.init(), ids: ["a", "b"])
        #expect(self.decisions(&roster, at: 0) == ["a looks", "b looks"])
        roster.finishLook("a", found: ["1"], at: 0)
        #expect(self.decisions(&roster, at: 0) == ["a approve 1"])
        roster.resume(at: 1, looking: true)
        #expect(roster["a"]?.tasks.map(\.state) == [.waiting])
        #expect(self.decisions(&roster, at: 1) == ["a looks", "b looks"])
        roster.finishLook("a", found: ["1"], at: 1)
        #expect(self.decisions(&roster, at: 1) == ["a approve 1"])
    }

    @Test func whatTheServerHasTakenIsDoneAndNotForgotten() {
        for isRestart in [true, false] {
            var roster = self.roster(.init())
            self.look(&roster, found: ["2", "1"], at: 0)
            #expect(self.decisions(&roster, at: 0) == ["a approve 1"])
            if isRestart {
                roster.resume(at: 1, looking: true)
            } else {
                roster.finish("1", of: "a", .unanswered(reason: "garbage"), at: 0)
                roster.look(at: 1) { _ in true }
            }
            #expect(roster["a"]?.tasks.map(\.mayBeTaken) == [true, false])
            #expect(roster.takeJobs(at: 1) == [.look(deviceID: "a")])
            roster.finishLook("a", found: ["2"], taken: ["1"], at: 1)
            #expect(roster["a"]?.tasks.map(\.state) == [.done, .waiting])
            #expect(roster["a"]?.tasks.map(\.failure) == [nil, nil])
        }
    }

    @Test func whoDecidesByRuleLooksAfterARestart() {
        var roster = self.roster(.init(), ids: ["a", "b"])
        for id in ["a", "b"] {
            _ = roster.takeJobs(at: 0)
            roster.finishLook(id, found: [], at: 0)
        }
        roster.setRule(.init(.never), of: "b", at: 0)
        _ = roster.takeJobs(at: 0)
        roster.finishLook("b", found: [], at: 0)
        roster.resume(at: 1, looking: true)
        #expect(self.decisions(&roster, at: 1) == ["a looks"])
    }

    @Test func whatIsKeptIsBounded() {
        var roster = self.roster(.init())
        for number in 0..<(DeviceRoster.keptTasks + 50) {
            roster.look(at: 0) { _ in true }
            self.look(&roster, found: ["\(number)"], at: 0)
            _ = roster.takeJobs(at: 0)
            roster.finish("\(number)", of: "a", nil, at: 0)
        }
        #expect(roster["a"]?.tasks.count == DeviceRoster.keptTasks)
        #expect(roster["a"]?.tasks.last?.operationID == "\(DeviceRoster.keptTasks + 49)")
        roster.setRule(.init(.approve, after: 60), of: "a", at: 0)
        let many = (0..<(2 * DeviceRoster.openTasks)).map { "many \($0)" }
        self.look(&roster, found: many, at: 0)
        #expect(roster["a"]?.tasks.count == DeviceRoster.keptTasks + DeviceRoster.openTasks)
        #expect(self.decide(&roster, "x", .approve) == false)
    }
}
