import PowerAuthCrypto
import PowerAuthProtocol

/// A token: represents the factors of its creation until it is removed.
struct ServerToken: Sendable, Codable, Equatable {
    let id: String
    let secret: ExportableSecret
    let activationID: String
    let factors: SignatureType
    let created: Milliseconds
    /// The stored version; `nil` for version 3.
    private let majorVersion: MajorVersion?

    init(
        id: String,
        secret: SecretBytes,
        activationID: String,
        factors: SignatureType,
        created: Milliseconds,
        version: MajorVersion
    ) {
        self.id = id
        self.secret = ExportableSecret(secret)
        self.activationID = activationID
        self.factors = factors
        self.created = created
        self.majorVersion = version == .version3 ? nil : version
    }

    /// The protocol version in which the token was created and is valid.
    var version: MajorVersion { self.majorVersion ?? .version3 }
}
