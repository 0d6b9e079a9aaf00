import EmulatorBackend
import EmulatorMessages
import ExactJSON
import Synchronization

/// A change of a server that takes time, tried out on a copy: nobody sees it half done, and one that fails has changed nothing.
final class Trial: Sendable {
    /// The changed state, and the events to tell of.
    struct Content: Sendable {
        var state: EmulatorCore.Changeable
        var events: [BackendEvent] = []
    }

    private let current: Mutex<Content>

    init(_ state: EmulatorCore.Changeable) { self.current = Mutex(Content(state: state)) }

    var content: Content { self.current.withLock { $0 } }

    func change<Result: Sendable, Failure>(
        _ body: (inout Content) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try self.current.withLock { (content) throws(Failure) in try body(&content) }
    }

    /// Responds to a request of a device: past the journal and the faults.
    func respond(to request: ReceivedRequest) -> ServerResponse {
        let reply = self.change { content in
            let reply = content.state.backend.reply(to: request, at: content.state.time.now())
            content.events += reply.events
            return reply
        }
        return ServerResponse(status: reply.status, headers: reply.headers, body: .bytes(reply.body))
    }
}

extension EmulatorCore {
    /// The number of times that a scenario is tried while others change the server.
    private static let trialLimit = 20

    /// Carries a scenario out, on a copy of what there is now. It takes effect as a whole if nothing else has changed meanwhile, and
    /// is tried again otherwise.
    func play(_ scenario: Scenario) async throws -> JSONValue {
        for _ in 0..<Self.trialLimit {
            let (revision, ruleCount) = (self.revision, self.faults.rules.count)
            let trial = Trial(self.changeable)
            let result = try await scenario.apply(to: trial, self.configuration, self.clock)
            let changed = trial.content
            guard self.revision == revision, self.devices.room >= changed.state.made.count else { continue }
            return try await self.change { state in
                // The counts of strikes stay as they are meanwhile.
                var faults = state.faults
                for rule in changed.state.faults.rules.dropFirst(ruleCount) { faults.append(rule) }
                state = changed.state
                state.faults = faults
                return (result, changed.events)
            }
        }
        throw Refusal(409, "INVALID_STATE", "Others change the server again and again while its devices activate")
    }
}
