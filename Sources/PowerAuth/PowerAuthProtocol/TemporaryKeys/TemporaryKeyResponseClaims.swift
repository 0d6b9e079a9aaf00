import Basics

/// The claims about a temporary key in all versions, with their names in the token.
struct TemporaryKeyResponseClaims: Codable {
    let sub: String
    let applicationKey: String
    let activationId: String?
    let challenge: String?
    let iat: Int64?
    let exp: Int64?
    let iat_ms: Int64?
    let exp_ms: Int64?

    /// Creates the claims for a key. Times are in milliseconds since 1970.
    init(keyID: String, issuedAt: Int64, expiresAt: Int64, answering request: some TemporaryKeyRequestClaims) {
        self.sub = keyID
        self.applicationKey = request.applicationKey
        self.activationId = request.activationID
        self.challenge = request.challenge
        self.iat = issuedAt / 1000
        self.exp = expiresAt / 1000
        self.iat_ms = issuedAt
        self.exp_ms = expiresAt
    }

    /// Throws unless these claims respond to `request`.
    func check(answering request: some TemporaryKeyRequestClaims) throws(TemporaryKeyError) {
        guard !self.sub.isEmpty else { throw .malformed }
        guard self.applicationKey.isExactly(request.applicationKey) else { throw .wrongApplicationKey }
        guard self.activationId.map({ ExactString($0) }) == request.activationID.map({ ExactString($0) }) else {
            throw .wrongActivationID
        }
        guard let challenge = self.challenge, let sent = request.challenge, challenge.isExactly(sent) else {
            throw .wrongChallenge
        }
    }
}

/// Two sets of claims in one token.
struct JoinedClaims<First: Codable, Second: Codable>: Codable {
    let first: First
    let second: Second

    init(_ first: First, _ second: Second) {
        self.first = first
        self.second = second
    }

    init(from decoder: any Decoder) throws {
        self.first = try First(from: decoder)
        self.second = try Second(from: decoder)
    }

    func encode(to encoder: any Encoder) throws {
        try self.first.encode(to: encoder)
        try self.second.encode(to: encoder)
    }
}
