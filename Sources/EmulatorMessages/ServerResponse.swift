package import ExactJSON

/// A response of the server.
package struct ServerResponse: Sendable {
    package enum Body: Sendable {
        case bytes([UInt8])
        /// `produce` writes the body piece by piece; when it returns, the body is complete, unless it aborted it.
        ///
        /// - Parameter length: The `Content-Length` to promise; without one, the body is chunked.
        case produced(length: Int?, produce: @Sendable (any BodyWriter) async -> Void)
        /// No response: the connection is reset.
        case reset
    }

    package var status: Int
    package var headers: [(name: String, value: String)] = []
    package var body: Body
    /// The activation that the request named. For the log alone: it is not sent.
    package var activationID: String?
    /// Warnings about ignored parts of the request. For the log alone, too.
    package var warnings: [String] = []

    package init(status: Int, headers: [(name: String, value: String)] = [], body: Body) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

extension ServerResponse {
    /// `{"status":"OK"}`.
    package static let ok = Self.json(["status": "OK"])

    /// Creates a response of the shape `{"status":"OK","responseObject":…}`.
    package static func object(_ value: JSONValue) -> Self {
        .json(["status": "OK", "responseObject": value])
    }

    /// Creates a response whose members keep their order.
    package static func json(_ value: JSONValue, status: Int = 200) -> Self {
        Self(status: status, headers: Self.jsonHeaders, body: .bytes(value.serialized()))
    }

    /// Creates an error in the shape that all of the APIs share.
    package static func error(
        _ status: Int,
        code: String,
        message: String,
        details: JSONObject = [:]
    ) -> Self {
        var object: JSONObject = ["code": .string(code), "message": .string(message)]
        object.members += details.members
        return .json(["status": "ERROR", "responseObject": .object(object)], status: status)
    }

    package static var jsonHeaders: [(name: String, value: String)] { [("Content-Type", "application/json")] }

    /// The body, unless it is made while it is sent.
    package var bytes: [UInt8] {
        if case .bytes(let bytes) = self.body { bytes } else { [] }
    }
}
