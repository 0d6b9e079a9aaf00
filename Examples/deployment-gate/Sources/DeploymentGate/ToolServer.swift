public import ExactJSON
public import MobileTokenApprovals

/// A tool that an agent may call.
public struct Tool: Sendable {
    enum Kind: Sendable {
        case free(@Sendable (JSONValue) async throws -> String)
        case gated(
            ApprovalTemplate,
            shows: @Sendable (JSONValue) throws -> [String: ApprovalRequest.Parameter],
            acts: @Sendable (ApprovalDesk.Approval) async throws -> String
        )
    }

    let name: String
    let kind: Kind

    /// A tool that changes nothing, and needs no approval.
    public static func free(_ name: String, _ body: @escaping @Sendable (JSONValue) async throws -> String) -> Self {
        Self(name: name, kind: .free(body))
    }

    /// A tool that a person has to approve, call by call.
    ///
    /// - Parameters:
    ///   - template: The template that shows the call.
    ///   - shows: Returns what the person sees and signs; throws for arguments that are no good, before anybody is asked.
    ///   - acts: Does what was approved.
    public static func gated(
        _ name: String,
        template: ApprovalTemplate,
        shows: @escaping @Sendable (JSONValue) throws -> [String: ApprovalRequest.Parameter],
        acts: @escaping @Sendable (ApprovalDesk.Approval) async throws -> String
    ) -> Self {
        Self(name: name, kind: .gated(template, shows: shows, acts: acts))
    }
}

/// The server of an agent's tools: the desk and the credentials are here, and the agent is somewhere else.
///
/// A call is a line of JSON, `{"id": …, "tool": …, "arguments": {…}}`, and so is its answer, `{"id": …, "result": …}` or
/// `{"id": …, "refused": …}`. Whatever is not understood is refused.
public struct ToolServer: Sendable {
    private let desk: ApprovalDesk
    private let approver: Approvers.Person
    private let session: String
    private let tools: [Tool]

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - approver: The person for whom the agent works.
    ///   - session: The name of the agent's session: its calls are named within it, and can be confused with no other one's.
    public init(desk: ApprovalDesk, approver: Approvers.Person, session: String, tools: [Tool]) {
        (self.desk, self.approver, self.session, self.tools) = (desk, approver, session, tools)
    }

    /// Answers a call.
    public func answer(_ line: String) async -> String {
        guard let call = try? JSONValue(parsing: line), let id = call["id"]?.string, let name = call["tool"]?.string,
            let arguments = call["arguments"], arguments.object != nil
        else { return Self.line(id: .null, refusal: "a call is an object of id, tool and arguments") }
        do {
            return Self.line(id: .string(id), result: try await self.run(name, arguments, id: id))
        } catch {
            return Self.line(id: .string(id), refusal: Self.refusal(error))
        }
    }

    private func run(_ name: String, _ arguments: JSONValue, id: String) async throws -> String {
        guard let tool = self.tools.first(where: { $0.name == name }) else { throw GateError("there is no such tool") }
        switch tool.kind {
        case .free(let body): return try await body(arguments)
        case .gated(let template, let shows, let acts):
            let request = ApprovalRequest(
                // Several tools may show their calls by one template, and take the same arguments.
                id: "\(self.session)/\(name)/\(id)",
                from: .all(of: [self.approver]),
                template: template,
                parameters: try shows(arguments),
                action: try .json(arguments),
                expires: .seconds(120)
            )
            return try await self.desk.perform(request) { approval in try await acts(approval) }
        }
    }

    /// Returns what the agent is told. The words are for a model: they say what to do next.
    private static func refusal(_ error: any Error) -> String {
        guard let error = error as? ApprovalError else { return "\(error)" }
        return switch error.code {
        case .rejected: "A person said no. Do not ask again."
        case .tooManyQuestions: "The person has been asked often enough. Wait, and do not ask in a loop."
        case .alreadyPerformed where error.performance == .unknown:
            "It was begun, and nobody knows whether it was done. A person has to find out. Do not repeat it."
        case .alreadyPerformed: "It was done before. Do not repeat it."
        default: "It was not done: \(error.message)."
        }
    }

    private static func line(id: JSONValue, result: String) -> String {
        String(decoding: (["id": id, "result": .string(result)] as JSONValue).serialized(), as: UTF8.self)
    }
    private static func line(id: JSONValue, refusal: String) -> String {
        String(decoding: (["id": id, "refused": .string(refusal)] as JSONValue).serialized(), as: UTF8.self)
    }
}
