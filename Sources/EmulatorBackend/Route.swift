package import APIDescriptions
import EmulatorMessages

extension Backend {
    /// One endpoint: how it is called, who may call it, what it may add to the state, what callers are told of it, and what
    /// it does.
    package struct Route: DescribedRoute {
        typealias Handler =
            @Sendable (_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse
        typealias Reader = @Sendable (_ context: RequestContext) throws(Refusal) -> Handler

        /// The callers of an endpoint.
        enum Caller {
            /// Anyone: the handler verifies the signature, the token or the envelope that the endpoint asks for.
            case device
            /// The bank, with the user and the password of the cloud API.
            case cloud
        }

        package let method: String
        package let path: String
        let caller: Caller
        let addition: Addition
        package let description: RouteDescription
        /// Reads what a call gives, and returns what the endpoint then does. A mistake in it is refused before anything else.
        let read: Reader

        /// An endpoint that devices call.
        ///
        /// - Parameters:
        ///   - access: The proof that a request must show.
        ///   - body: The body of a request. Devices may send members that are not described, as real servers let them.
        ///   - response: The form of the response.
        static func device(
            _ method: String,
            _ path: String,
            adds addition: Addition = .nothing,
            _ summary: String,
            shows access: RouteDescription.Access = .open,
            takes body: RouteDescription.Body? = nil,
            gives response: Schema = .anything,
            _ perform: @escaping Handler
        ) -> Self {
            let description = RouteDescription(
                summary,
                access: access,
                request: body,
                response: .json(response),
                refusals: Self.refusals(of: method, path, [401], addition)
            )
            return Self(
                method: method,
                path: path,
                caller: .device,
                addition: addition,
                description: description,
                read: { _ in perform }
            )
        }

        private static func refusals(
            of method: String,
            _ path: String,
            _ own: [Int],
            _ addition: Addition
        ) -> [Int] {
            var statuses: Set = [400, 413, 500, 503]
            statuses.formUnion(own)
            if method == "POST" || method == "PUT" { statuses.insert(415) }
            if addition != .nothing { statuses.insert(507) }
            return statuses.sorted()
        }
    }
}
