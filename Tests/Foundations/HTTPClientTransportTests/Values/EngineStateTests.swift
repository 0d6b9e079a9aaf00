import Testing

@testable import HTTPClientTransport

@Suite struct EngineStateTests {
    private var state = EngineState<String, Int>()

    private mutating func collected() -> [String]? {
        guard case .perform(let commands) = self.state.collect() else { return nil }
        return commands
    }

    @Test func theFirstCommandStartsTheThread() {
        var test = self
        #expect(test.state.post("a") == .startThread)
        #expect(test.state.post("b") == .nothing)
        #expect(test.collected() == ["a", "b"])
    }

    @Test func onlyASleepingThreadIsWokenAndOnlyOnce() {
        var test = self
        _ = test.state.post("a")
        #expect(test.collected() == ["a"])
        #expect(test.state.post("b") == .nothing)  // it looks again before it sleeps
        #expect(test.collected() == ["b"])
        #expect(test.collected() == [])
        #expect(test.state.post("c") == .wakeThread)
        #expect(test.state.post("d") == .nothing)
        #expect(test.collected() == ["c", "d"])
    }

    @Test func stoppingEndsTheThreadAndHandsBackWhatItDidNotSee() {
        var test = self
        _ = test.state.post("a")
        #expect(test.state.stop() == .wakeThread)
        #expect(test.state.stop() == .nothing)
        #expect(test.state.post("b") == .refuse)
        #expect(test.state.waitUntilStopped(1) == .wait)
        #expect(test.collected() == nil)
        let (commands, waiters) = test.state.threadEnded()
        #expect(commands == ["a"])
        #expect(waiters == [1])
        #expect(test.state.waitUntilStopped(2) == .resume)
    }

    @Test func aThreadThatCouldNotBeStartedIsStartedByTheNextCommand() {
        var test = self
        _ = test.state.post("a")
        #expect(test.state.threadFailed().commands == ["a"])
        #expect(test.state.post("b") == .startThread)
        #expect(test.collected() == ["b"])
    }

    @Test func aThreadThatCouldNotBeStartedAndWasToEndHasEnded() {
        var test = self
        _ = test.state.post("a")
        _ = test.state.stop()
        #expect(test.state.waitUntilStopped(1) == .wait)
        let (commands, waiters) = test.state.threadFailed()
        #expect(commands == ["a"])
        #expect(waiters == [1])
        #expect(test.state.post("b") == .refuse)
    }

    @Test func stoppingWithoutAThreadIsImmediate() {
        var test = self
        #expect(test.state.stop() == .nothing)
        #expect(test.state.waitUntilStopped(1) == .resume)
        #expect(test.state.post("a") == .refuse)
    }
}
