/// What the server sends back.
struct ServerResponse: Sendable {
    enum Body: Sendable {
        case bytes([UInt8])
        /// `produce` writes the body piece by piece; when it returns, the body is complete, unless it aborted it.
        ///
        /// - Parameter length: The `Content-Length` to promise; without one, the body is chunked.
        case produced(length: Int?, produce: @Sendable (BodyStream) async -> Void)
        /// No response: the connection is reset.
        case reset
    }

    var status: Int
    var headers: [(name: String, value: String)] = []
    var body: Body
}

extension ServerResponse {
    /// An error in the shape that all of the APIs share.
    static func error(_ status: Int, code: String, message: String) -> ServerResponse {
        .json(ErrorDocument(responseObject: .init(code: code, message: message)), status: status)
    }

    /// - Parameter value: Something whose encoding cannot fail: no infinite numbers, no throwing `encode(to:)`.
    static func json(_ value: some Encodable, status: Int = 200) -> ServerResponse {
        let body = (try? ControlJSON.encode(value)) ?? []
        return ServerResponse(status: status, headers: [("Content-Type", "application/json")], body: .bytes(body))
    }

    private struct ErrorDocument: Encodable {
        struct Detail: Encodable {
            var code: String
            var message: String
        }
        var status = "ERROR"
        var responseObject: Detail
    }
}
