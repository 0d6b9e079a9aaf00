import APIDescriptions
import EmulatorBackend
import EmulatorMessages
import ExactJSON

extension ControlAPI {
    /// An endpoint of the control API, or a page.
    struct Route: DescribedRoute {
        typealias Handler =
            @Sendable (ControlAPI, ReceivedRequest, _ arguments: [String]) async throws -> ServerResponse

        let method: String
        let path: String
        let description: RouteDescription
        let handler: Handler

        /// - Parameters:
        ///   - needsCredentials: `true` if the route requires the credentials even on loopback, because its response holds keys
        ///     or passwords.
        ///   - status: The status of a successful response; `nil` for a route that always refuses.
        ///   - refusals: Statuses besides those common to routes of its kind.
        init(
            _ line: CallLine,
            named name: String? = nil,
            needsCredentials: Bool = false,
            _ summary: String,
            asks query: [RouteDescription.Parameter] = [],
            takes body: RouteDescription.Body? = nil,
            status: Int? = 200,
            gives response: RouteDescription.Content = .json(.done),
            refuses refusals: [Int] = [],
            _ handler: @escaping Handler
        ) {
            (self.method, self.path) = (line.method, "/_emulator" + line.path)
            self.description = RouteDescription(
                summary,
                access: needsCredentials ? .credentials : .credentialsBeyondLoopback,
                query: query,
                request: body,
                status: status,
                response: response,
                refusals: Self.refusals(line.path, takesBody: body != nil, refusals),
                origin: .emulator,
                name: name
            )
            self.handler = { [description = self.description] control, request, arguments in
                try request.check(description)
                var request = request
                // An undescribed body is not read.
                if description.request == nil { request.body = [] }
                return try await handler(control, request, arguments)
            }
        }

        static func refusals(_ path: String, takesBody: Bool, _ own: [Int]) -> [Int] {
            var statuses: Set = [400, 401, 403, 413, 500, 503]
            statuses.formUnion(own)
            if takesBody { statuses.insert(415) }
            if path.utf8.contains(UInt8(ascii: "{")) { statuses.insert(404) }
            return statuses.sorted()
        }

        /// Calls whose objects the control API shows itself, with more members.
        private static let shown = [
            "/v2/operations", "/v2/operations/{id}", "/v2/registrations", "/v2/registrations/{id}", "/v2/callbacks",
        ]

        /// A route of the cloud API in its user's name, with the control API's access instead of the user's credentials.
        /// Applications are shown with their keys.
        init?(relaying route: Backend.Route) {
            let prefix = "/v2/".utf8
            guard route.path.utf8.starts(with: prefix), route.method != "GET" || !Self.shown.contains(route.path) else {
                return nil
            }
            let rest = String(Substring(route.path.utf8.dropFirst(prefix.count)))
            self.method = route.method
            self.path = "/_emulator/cloud/" + rest
            var description = route.description
            description.access =
                rest.utf8.starts(with: "applications".utf8) ? .credentials : .credentialsBeyondLoopback
            description.refusals = Set(description.refusals + [401, 403]).sorted()
            description.origin = .emulator
            self.description = description
            self.handler = { control, request, _ in
                var relayed = request
                relayed.path = "/v2" + String(Substring(request.path.utf8.dropFirst("/_emulator/cloud".utf8.count)))
                return await control.core.respond(to: relayed, from: .controlAPI)
            }
        }
    }
}

extension ReceivedRequest {
    /// Refuses a query or a body that does not have the route's form.
    func check(_ description: RouteDescription) throws(Refusal) {
        let query = Call(query: self.query).queryObject(description.query)
        if let mistake = Schema.object(description.query).mistake(in: .object(query)) { throw .invalid(mistake) }
        guard let body = description.request, body.isRequired || !self.body.isEmpty else { return }
        try self.requireJSON()
        // A whole state, and documents written by a person, are read only once, by their consumer.
        if body.isWritten { return }
        let value = try self.json()
        if let objection = body.schema.objection(to: value) { throw .invalidRequest(objection) }
    }

    func json(_ limits: JSONLimits = JSONLimits()) throws(Refusal) -> JSONValue {
        do { return try JSONValue(parsing: self.body, limits: limits) } catch {
            throw .invalidRequest("The body is not JSON (\(error.description))")
        }
    }

    /// Refuses a body not declared as JSON, which a foreign page could send without permission.
    func requireJSON() throws(Refusal) {
        guard self.isJSON else { throw .wrongContentType }
    }
}
