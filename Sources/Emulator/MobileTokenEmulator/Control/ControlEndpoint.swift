import APIDescriptions
import EmulatorBackend
import EmulatorHTTP
import EmulatorMessages
import ExactJSON

extension ControlAPI.Route {
    /// Creates the route of a described call. Only this initializer handles its bytes.
    ///
    /// - Parameters:
    ///   - name: The call's name, if the one derived from method and path would mislead.
    ///   - needsCredentials: `true` if the call requires the credentials even on loopback, because its response holds keys or
    ///     passwords.
    ///   - refusals: Statuses besides those common to calls of its kind.
    ///   - mayBeLarge: Returns whether the body may be as large as an import's.
    init<each Part: Sendable, Output: Sendable>(
        _ line: CallLine,
        named name: String? = nil,
        needsCredentials: Bool = false,
        _ summary: String,
        takes parts: repeat Call.Part<each Part>,
        gives output: Form<Output>,
        refuses refusals: [Int] = [],
        mayBeLarge: (@Sendable (repeat each Part) -> Bool)? = nil,
        _ handle: @escaping @Sendable (ControlAPI, repeat each Part) async throws -> Output
    ) {
        var takesBody = false
        for part in repeat each parts { takesBody = takesBody || part.takesBody }
        let description = RouteDescription(
            summary,
            access: needsCredentials ? .credentials : .credentialsBeyondLoopback,
            response: .json(output.schema),
            refusals: Self.refusals(line.path, takesBody: takesBody, refusals),
            origin: .emulator,
            name: name
        )
        let line: CallLine = "\(line.method) /_emulator\(line.path)"
        let endpoint = Endpoint(line, takes: repeat each parts, gives: output, description)
        (self.method, self.path, self.description) = (line.method, line.path, endpoint.description)
        self.handler = { control, request, arguments in
            let input = try request.input(of: endpoint, arguments)
            guard request.body.count <= HTTPServer.Limits().bodyBytes || mayBeLarge?(repeat each input) == true else {
                throw Refusal(413, "INVALID_REQUEST", "The request body is too large")
            }
            return .json(output.json(try await handle(control, repeat each input)))
        }
    }
}

extension ReceivedRequest {
    func input<Input, Output>(
        of endpoint: Endpoint<Input, Output>,
        _ arguments: [String]
    ) throws(Refusal) -> Input {
        var call = Call(arguments: endpoint.arguments(arguments), query: self.query)
        if let body = endpoint.description.request, body.isRequired || !self.body.isEmpty {
            try self.requireJSON()
            // The server has already limited the length.
            call.body = try self.json(JSONLimits(maximumByteCount: self.body.count))
        }
        do { return try endpoint.input(call) } catch { throw .invalidRequest(error.message) }
    }
}
