package import APIDescriptions
import EmulatorMessages

extension Backend {
    /// An endpoint: its route, its description and its handler.
    package struct Route: DescribedRoute {
        typealias Handler =
            @Sendable (_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse

        package let method: String
        package let path: String
        package let description: RouteDescription
        let handle: Handler

        /// An endpoint for devices: the handler verifies the required signature, token or envelope.
        ///
        /// - Parameters:
        ///   - addition: The kind of object that a successful request may add to the state.
        ///   - access: The required proof.
        ///   - body: The request's body. Devices may send undescribed members, as to real servers.
        ///   - response: The form of the response.
        static func device(
            _ line: CallLine,
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
                refusals: Self.refusals([401], addition)
            )
            return Self(method: line.method, path: line.path, description: description) {
                (bank, context) throws(Refusal) in
                let added = try bank.reserveCapacity(for: addition, context)
                let response = try perform(&bank, &context)
                bank.state.storedBytes += added
                return response
            }
        }

        private static func refusals(_ own: [Int], _ addition: Addition) -> [Int] {
            var statuses: Set = [400, 413, 500, 503]
            statuses.formUnion(own)
            if addition != .nothing { statuses.insert(507) }
            return statuses.sorted()
        }
    }
}
