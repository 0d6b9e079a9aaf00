import EmulatorBackend
import EmulatorMessages
import ExactJSON
import Synchronization

/// A lengthy change of a server, made on a copy: it becomes visible as a whole, and a failure changes nothing.
final class Trial: Sendable {
    /// The changed state, and the resulting events.
    struct Content: Sendable {
        var state: EmulatorCore.MutableState
        var events: [BackendEvent] = []
    }

    private let current: Mutex<Content>

    init(_ state: EmulatorCore.MutableState) { self.current = Mutex(Content(state: state)) }

    var content: Content { self.current.withLock { $0 } }

    func change<Result: Sendable, Failure>(
        _ body: (inout Content) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try self.current.withLock { (content) throws(Failure) in try body(&content) }
    }

    /// Responds to a device's request without journal and faults.
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
    /// The number of attempts while other changes interfere.
    private static let trialLimit = 20

    /// Applies a scenario to a copy of the current state. It takes effect as a whole if nothing else has changed meanwhile, and
    /// is retried otherwise.
    func play(_ scenario: Scenario) async throws -> JSONValue {
        for _ in 0..<Self.trialLimit {
            let (revision, ruleCount) = (self.revision, self.faults.rules.count)
            let trial = Trial(self.mutableState)
            let result = try await scenario.apply(to: trial, self.configuration, self.clock)
            let changed = trial.content
            guard self.revision == revision, self.devices.room >= changed.state.made.count else { continue }
            return try await self.change { state in
                // The rules' counts continue meanwhile.
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
