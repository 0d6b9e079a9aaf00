import StoreTesting
import HTTPClientTransport
import MobileToken
import PowerAuth
import TestSupport

/// What everything passes that a process does to the world outside: its store and its network. When the process is killed,
/// nothing passes any more, whatever its tasks still try.
final class LifeLine: Sendable {
    struct Killed: Error {}

    private struct State {
        var pointsLeft: Int?
        var isCut = false
    }

    private let state = Shared(State())

    var isCut: Bool { self.state.value.isCut }

    /// Kills the process at once.
    func cut() { self.state.update { $0.isCut = true } }

    /// Kills the process when it has passed so many more points: before or after it does something to the world.
    func cut(after points: Int) { self.state.update { $0.pointsLeft = points } }

    /// Passes a point.
    ///
    /// - Throws: ``Killed`` at the point where the process dies, and ever after.
    func pass() throws {
        let isCut = self.state.update { state in
            if let left = state.pointsLeft {
                state.pointsLeft = max(0, left - 1)
                if left == 0 { state.isCut = true }
            }
            return state.isCut
        }
        if isCut { throw Killed() }
    }

    /// Does something between two points.
    nonisolated(nonsending) func passing<Result>(_ body: () async throws -> Result) async throws -> Result {
        try self.pass()
        let result = try await body()
        try self.pass()
        return result
    }
}

/// The network as a mortal process has it: what is on its way when the process dies arrives all the same.
struct MortalTransport: HTTPTransport {
    let line: LifeLine
    let network: any HTTPTransport
    /// Called when a request is sent.
    let willSend: @Sendable () -> Void
    /// Called when a response came.
    let didReceive: @Sendable (HTTPRequest, HTTPResponse) -> Void

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let response = try await self.line.passing {
            self.willSend()
            return try await self.network.send(request)
        }
        self.didReceive(request, response)
        return response
    }
}

/// A store as a mortal process has it: what was committed when the process dies is committed, though nobody heard of it.
struct MortalDriver: ForwardingDriver {
    let line: LifeLine
    let base: any JournalDriver

    func passing<Result>(_ call: () async throws -> Result) async throws -> Result {
        try await self.line.passing(call)
    }
}
