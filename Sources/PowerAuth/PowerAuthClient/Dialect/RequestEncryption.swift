import HTTPClientTransport

/// Encrypts requests in one scope and one protocol version.
protocol RequestEncryption: AnyObject, Sendable {
    /// Fetches the key for the next request, while cancellation is still possible.
    func prepare() async throws
    func encrypt(_ plaintext: [UInt8], for sharedInfo: SharedInfo) async throws -> EncodedBody
    /// Sends an encrypted, unsigned request, and repeats it if the server does not know the temporary key.
    func send(_ path: String, headers: HTTPHeaders, _ plaintext: [UInt8]) async throws -> ServerResponse
    /// Drops a temporary key that the server no longer knows, unless it was already replaced.
    func drop(_ id: String)
}
