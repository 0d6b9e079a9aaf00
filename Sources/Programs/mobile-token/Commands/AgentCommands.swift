import CommandLineSupport
import ExactJSON
import Foundation
import MobileToken

/// Commands for the agents that use this profile's store.
enum AgentCommands {
    static let all = [pause, resume, status]

    static let pause = Command(
        "agent",
        "pause",
        summary: "Stop all agents of this store from deciding, until 'agent resume'.",
        discussion: """
            Holds for every process that shares the store, whether or not it has noticed, and over restarts. What was signed
            before is on its way. Polling goes on, and so do 'approve' and 'reject'.
            """,
        options: [.init("reason", "TEXT", "why, for people")]
    ) { invocation in
        let session = try Session(invocation)
        try await session.client.pauseDeciding(reason: invocation["reason"] ?? "")
        return try await Self.show(session)
    }

    static let resume = Command(
        "agent",
        "resume",
        summary: "Let agents decide again, including what came meanwhile."
    ) { invocation in
        let session = try Session(invocation)
        try await session.client.resumeDeciding()
        return try await Self.show(session)
    }

    static let status = Command(
        "agent",
        "status",
        summary: "Show whether agents may decide with this store."
    ) { invocation in
        try await Self.show(try Session(invocation))
    }

    private static func show(_ session: Session) async throws -> ExitCode {
        let pause = try await session.client.decisionPause
        session.output.result(
            [
                "paused": .bool(pause != nil),
                "since": pause.map { .date($0.date) } ?? .null,
                "reason": .optional(pause?.reason),
            ],
            text: pause?.sentence ?? "Agents may decide."
        )
        return .done
    }
}

extension DecisionPause {
    fileprivate var sentence: String {
        let reason = self.reason.isEmpty ? "" : ": \(TextTable.printable(self.reason))"
        return "Deciding is paused since \(self.date.formatted(.iso8601))\(reason)."
    }
}
