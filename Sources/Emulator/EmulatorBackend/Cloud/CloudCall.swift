import APIDescriptions
import EmulatorMessages
import ExactJSON

extension Backend.Route {
    /// An endpoint for the bank, from its single description. Only this function handles its bytes. Errors in them are refused
    /// first.
    static func cloud<Input, Output>(
        _ endpoint: Endpoint<Input, Output>,
        adds addition: Backend.Addition = .nothing,
        _ answer:
            @escaping @Sendable (inout Backend, Input, inout RequestContext) throws(Refusal) -> Output
    ) -> Self {
        Self(method: endpoint.method, path: endpoint.path, description: endpoint.description) {
            (bank, context) throws(Refusal) in
            let isStrict = context.caller == .controlAPI || endpoint.description.origin == .emulator
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
    /// Reads the input of a call from a request.
    ///
    /// - Parameter isStrict: `true` to refuse members that a real server would ignore.
    fileprivate mutating func input<Input, Output>(
        of endpoint: Endpoint<Input, Output>,
        isStrict: Bool
    ) throws(Refusal) -> Input {
        var call = Call(arguments: endpoint.arguments(self.pathArguments), query: self.request.query)
        if let body = endpoint.description.request, body.isRequired || !self.request.body.isEmpty {
            call.body = .object(self.request.body.isEmpty ? [:] : try self.json())
        }
        if !isStrict { self.inspection.noteIgnored(call.dropUnknown(beside: endpoint.description)) }
        do {
            return try endpoint.input(call)
        } catch {
            // A seemingly missing member may be there under another name.
            throw .invalid(error, beside: self.inspection.warnings.map(\.message))
        }
    }
}
