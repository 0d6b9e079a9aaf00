/// A complete HTTP response.
public struct HTTPResponse: Sendable, Hashable {
    /// The status code, such as 200.
    public var status: Int
    /// The headers in the order received.
    public var headers: HTTPHeaders
    /// The complete body.
    public var body: [UInt8]

    /// Creates a response.
    public init(status: Int, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
