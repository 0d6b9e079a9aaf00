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
            let input = try context.input(of: endpoint)
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
    /// Reads what a request gives to a call; what a real server would ignore was left out of the body before.
    fileprivate func input<Input, Output>(of endpoint: Endpoint<Input, Output>) throws(Refusal) -> Input {
        let call = Call(
            arguments: endpoint.arguments(self.pathArguments),
            query: self.request.query.filter { pair in
                endpoint.description.query.contains { $0.name.isExactly(pair.name) }
            },
            body: self.content
        )
        do {
            return try endpoint.input(call)
        } catch {
            // A member that seems to be missing may stand there under another name.
            throw .invalid(error, beside: self.inspection.warnings.map(\.message))
        }
    }
}
