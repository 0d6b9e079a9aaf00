internal import EmulatorMessages

extension Backend {
    /// One endpoint: how it is called, who may call it, what it may add to the state, and what it does.
    struct Route: Routable {
        /// Throws a ``Refusal`` only. The compiler does not infer that of a closure, and a table whose every line says
        /// so could not be read.
        typealias Handler = @Sendable (inout Backend, inout RequestContext) throws -> ServerResponse

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
        private let handler: Handler

        /// Does what the endpoint does.
        func perform(_ backend: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
            do {
                return try self.handler(&backend, &context)
            } catch let refusal as Refusal {
                throw refusal
            } catch {
                throw Refusal(500, "ERROR_GENERIC", "The server failed", because: "\(error)")
            }
        }

        static func device(
            _ method: String,
            _ path: String,
            adds addition: Addition = .nothing,
            _ summary: String,
            _ handler: @escaping Handler
        ) -> Self {
            Self(method: method, path: path, caller: .device, addition: addition, summary: summary, handler: handler)
        }

        static func cloud(
            _ method: String,
            _ path: String,
            adds addition: Addition = .nothing,
            _ summary: String,
            _ handler: @escaping Handler
        ) -> Self {
            Self(method: method, path: path, caller: .cloud, addition: addition, summary: summary, handler: handler)
        }
    }
}
