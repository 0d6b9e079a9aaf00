import EmulatorMessages

extension Backend {
    /// One endpoint: how it is called, who may call it, what it may add to the state, and what it does.
    struct Route: Routable {
        typealias Handler =
            @Sendable (_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse

        /// Who may call an endpoint.
        enum Caller {
            /// Anyone: the handler verifies the signature, the token or the envelope that the endpoint asks for.
            case device
            /// The bank, with the user and the password of the cloud API.
            case cloud
        }

        let method: String
        let path: String
        let caller: Caller
        let addition: Addition
        let summary: String
        /// Does what the endpoint does.
        let perform: Handler

        static func device(
            _ method: String,
            _ path: String,
            adds addition: Addition = .nothing,
            _ summary: String,
            _ perform: @escaping Handler
        ) -> Self {
            Self(method: method, path: path, caller: .device, addition: addition, summary: summary, perform: perform)
        }

        static func cloud(
            _ method: String,
            _ path: String,
            adds addition: Addition = .nothing,
            _ summary: String,
            _ perform: @escaping Handler
        ) -> Self {
            Self(method: method, path: path, caller: .cloud, addition: addition, summary: summary, perform: perform)
        }
    }
}
