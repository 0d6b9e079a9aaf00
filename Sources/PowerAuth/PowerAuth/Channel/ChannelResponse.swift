package import PowerAuthClient

/// An undecoded response with a status below 400.
public struct ChannelResponse: Sendable {
    private let response: ServerResponse

    /// The body, undecoded.
    public var bytes: [UInt8] { self.response.bytes }
    /// The status.
    public var httpStatus: Int { self.response.httpStatus }
    /// The signature that decided, if the request decided an operation.
    package var decision: SignedDecision? { self.response.decision }

    package init(_ response: ServerResponse) { self.response = response }

    /// Creates a response.
    public init(_ bytes: [UInt8], httpStatus: Int = 200) {
        self.init(ServerResponse(bytes, httpStatus: httpStatus))
    }

    /// Creates a response from JSON, such as `{"status":"OK"}`.
    public init(json: String, httpStatus: Int = 200) {
        self.init(Array(json.utf8), httpStatus: httpStatus)
    }

    /// A bare success response.
    public static let success = Self(json: #"{"status":"OK"}"#)

    /// Reads the body; see ``ServerResponse/read(_:)``.
    package func read<Value>(_ body: ([UInt8]) throws -> Value) throws -> Value { try self.response.read(body) }
}
