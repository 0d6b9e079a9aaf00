import APIDescriptions
import EmulatorBackend
import EmulatorHTTP
import EmulatorMessages
import ExactJSON

extension Endpoint {
    /// A call of the control API.
    ///
    /// - Parameters:
    ///   - name: Its name, where the one that follows from method and path would mislead.
    ///   - needsCredentials: `true` if it asks for the credentials on loopback too: the answer holds keys or passwords.
    ///   - refusals: Statuses beside those that every call of its kind may have.
    static func control<each Part: Sendable>(
        _ method: String,
        _ path: String,
        named name: String? = nil,
        needsCredentials: Bool = false,
        _ summary: String,
        takes parts: repeat Call.Part<each Part>,
        gives output: Form<Output>,
        refuses refusals: [Int] = []
    ) -> Self where Input == (repeat each Part) {
        var takesBody = false
        for part in repeat each parts { takesBody = takesBody || part.takesBody }
        let description = RouteDescription(
            summary,
            access: needsCredentials ? .credentials : .credentialsBeyondLoopback,
            response: .json(output.schema),
            refusals: ControlAPI.Route.refusals(path, takesBody: takesBody, refusals),
            origin: .emulator,
            name: name
        )
        return Self(method, "/_emulator" + path, takes: repeat each parts, gives: output, description)
    }
}

extension ControlAPI.Route {
    /// A call that is described once. Its bytes are known here and nowhere else.
    ///
    /// - Parameter mayBeLarge: Returns whether the body may be as large as that of an import.
    init<Input, Output>(
        _ endpoint: Endpoint<Input, Output>,
        mayBeLarge: @escaping @Sendable (Input) -> Bool = { _ in false },
        _ handle: @escaping @Sendable (ControlAPI, Input) async throws -> Output
    ) {
        self.method = endpoint.method
        self.path = endpoint.path
        self.description = endpoint.description
        self.handler = { control, request, arguments in
            let input = try request.input(of: endpoint, arguments)
            guard request.body.count <= HTTPServer.Limits().bodyBytes || mayBeLarge(input) else {
                throw Refusal(413, "INVALID_REQUEST", "The request body is too large")
            }
            return .json(endpoint.output.json(try await handle(control, input)))
        }
    }
}

extension ReceivedRequest {
    /// Reads what a request gives to a call.
    func input<Input, Output>(
        of endpoint: Endpoint<Input, Output>,
        _ arguments: [String]
    ) throws(Refusal) -> Input {
        var call = Call(arguments: endpoint.arguments(arguments), query: self.query)
        if let body = endpoint.description.request, body.isRequired || !self.body.isEmpty {
            try self.requireJSON()
            // The server has bounded the length already.
            let limits = JSONLimits(maximumByteCount: self.body.count)
            guard let value = try? JSONValue(parsing: self.body, limits: limits) else {
                throw .invalidRequest("The body is not JSON")
            }
            call.body = value
        }
        do { return try endpoint.input(call) } catch { throw .invalidRequest(error.message) }
    }
}
