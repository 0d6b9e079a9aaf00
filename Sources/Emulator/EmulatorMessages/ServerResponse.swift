package import ExactJSON

package struct ServerResponse: Sendable {
    package enum Body: Sendable {
        case bytes([UInt8])
        /// A body written piece by piece by `produce`; it is complete when that returns, unless it was aborted.
        ///
        /// - Parameter length: The `Content-Length`; without one, the body is chunked.
        case produced(length: Int?, produce: @Sendable (any BodyWriter) async -> Void)
        /// No response: the connection is reset.
        case reset
    }

    package var status: Int
    package var headers: [(name: String, value: String)] = []
    package var body: Body
    /// The activation that the request named, only for the log.
    package var activationID: String?
    /// Warnings about ignored parts of the request, only for the log.
    package var warnings: [String] = []
    /// The number of a refusal's entry in the journal.
    package var journalEntry: UInt64?

    package init(status: Int, headers: [(name: String, value: String)] = [], body: Body) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

extension ServerResponse {
    /// `{"status":"OK"}`.
    package static let ok = Self.json(["status": "OK"])

    /// Creates a response of the form `{"status":"OK","responseObject":…}`.
    package static func object(_ value: JSONValue) -> Self {
        .json(["status": "OK", "responseObject": value])
    }

    /// Creates a response that keeps the order of members.
    package static func json(_ value: JSONValue, status: Int = 200) -> Self {
        Self(status: status, headers: Self.jsonHeaders, body: .bytes(value.serialized()))
    }

    /// Creates an error in the format common to all APIs.
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

    /// The body; empty if it is produced while it is sent.
    package var bytes: [UInt8] {
        if case .bytes(let bytes) = self.body { bytes } else { [] }
    }
}
