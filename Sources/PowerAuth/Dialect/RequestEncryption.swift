import HTTPClientTransport

/// Encrypts requests in one scope, application or activation, in one version of the protocol.
protocol RequestEncryption: AnyObject, Sendable {
    /// Fetches what the next request needs, while that can still be canceled.
    func prepare() async throws
    /// Encrypts one request.
    func encrypt(_ plaintext: [UInt8], for sharedInfo: SharedInfo) async throws -> RequestBody
    /// Sends an encrypted request of the scope's own kind that is not signed, and once more when the server does not know the
    /// temporary key.
    func send(_ path: String, headers: HTTPHeaders, _ plaintext: [UInt8]) async throws -> ChannelResponse
    /// Forgets a temporary key that the server does not know any more, unless another took its place already.
    func drop(_ id: String)
}
