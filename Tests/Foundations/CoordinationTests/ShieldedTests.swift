import Coordination
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ShieldedTests {
    @Test func theCallerWaitsForWorkThatItsCancellationDoesNotReach() async throws {
        let door = Door()
        let caller = Task {
            await shielded { () -> Bool in
                try? await door.pass()
                return Task.isCancelled
            }
        }
        await until { door.visitors.value == 1 }
        caller.cancel()
        door.open()
        #expect(await caller.value == false)
    }
}
