internal import PowerAuthProtocol

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
    /// `{"status":"OK"}`.
    static let ok = Self.json(["status": "OK"])

    /// Creates a response of the shape `{"status":"OK","responseObject":…}`.
    static func object(_ value: JSONValue) -> Self {
        .json(["status": "OK", "responseObject": value])
    }

    /// Creates a response whose members keep their order.
    static func json(_ value: JSONValue, status: Int = 200) -> Self {
        Self(status: status, headers: Self.jsonHeaders, body: .bytes(value.serialized()))
    }

    /// Creates a response of something whose encoding cannot fail: no infinite numbers, no throwing `encode(to:)`.
    static func encoding(_ value: some Encodable) -> Self {
        Self(status: 200, headers: Self.jsonHeaders, body: .bytes((try? ControlJSON.encode(value)) ?? []))
    }

    /// Creates an error in the shape that all of the APIs share.
    static func error(_ status: Int, code: String, message: String, details: JSONObject = [:]) -> Self {
        var object: JSONObject = ["code": .string(code), "message": .string(message)]
        object.members += details.members
        return .json(["status": "ERROR", "responseObject": .object(object)], status: status)
    }

    static var jsonHeaders: [(name: String, value: String)] { [("Content-Type", "application/json")] }

    /// The body, unless it is made while it is sent.
    var bytes: [UInt8] {
        if case .bytes(let bytes) = self.body { bytes } else { [] }
    }
}
