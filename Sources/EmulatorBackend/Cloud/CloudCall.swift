import APIDescriptions
import Basics
import CloudCalls
import EmulatorMessages
import ExactJSON

extension Backend.Route {
    /// An endpoint that the bank calls, which is described once. Its bytes are known here and nowhere else. A mistake in them is
    /// refused before anything else.
    static func cloud<Input, Output>(
        _ endpoint: Endpoint<Input, Output>,
        adds addition: Backend.Addition = .nothing,
        _ answer:
            @escaping @Sendable (inout Backend, Input, inout RequestContext) throws(Refusal) -> Output
    ) -> Self {
        Self(method: endpoint.method, path: endpoint.path, description: endpoint.description) {
            (bank, context) throws(Refusal) in
            let isStrict =
                bank.profile.isStrict || context.caller == .controlAPI || endpoint.description.origin == .emulator
            let input = try context.input(of: endpoint, isStrict: isStrict)
            let added = try bank.reserveCapacity(for: addition, context)
            let content = endpoint.output.json(try answer(&bank, input, &context))
            bank.state.storedBytes += added
            return .json(
                bank.protocolRules.documentedAnswersOnly ? endpoint.output.schema.documented(content) : content
            )
        }
    }
}

extension RequestContext {
    /// Reads what a request gives to a call.
    ///
    /// - Parameter isStrict: `true` if what a real server would ignore is refused, too.
    fileprivate mutating func input<Input, Output>(
        of endpoint: Endpoint<Input, Output>,
        isStrict: Bool
    ) throws(Refusal) -> Input {
        var call = Call(arguments: endpoint.arguments(self.pathArguments), query: self.request.query)
        if let body = endpoint.description.request, body.isRequired || !self.request.body.isEmpty {
            call.body = .object(try self.json())
        }
        if !isStrict { self.inspection.noteIgnored(call.dropUnknown(beside: endpoint.description)) }
        do {
            return try endpoint.input(call)
        } catch {
            // A member that seems to be missing may stand there under another name.
            throw .invalid(error, beside: self.inspection.warnings.map(\.message))
        }
    }
}
