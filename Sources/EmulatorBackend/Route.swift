package import APIDescriptions
import EmulatorMessages

extension Backend {
    /// One endpoint: how it is called, what callers are told of it, and what it does.
    package struct Route: DescribedRoute {
        typealias Handler =
            @Sendable (_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse

        package let method: String
        package let path: String
        package let description: RouteDescription
        let handle: Handler

        /// An endpoint that devices call: the handler verifies the signature, the token or the envelope that it asks for.
        ///
        /// - Parameters:
        ///   - addition: The thing that a granted request may add to the state.
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
            return Self(method: method, path: path, description: description) { (bank, context) throws(Refusal) in
                let added = try bank.reserveCapacity(for: addition, context)
                let response = try perform(&bank, &context)
                bank.state.storedBytes += added
                return response
            }
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
