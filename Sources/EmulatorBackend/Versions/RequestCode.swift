import PowerAuthCrypto
import PowerAuthProtocol

/// The proof of an activation's keys in the header of a request: a signature, or an authentication code.
struct RequestCode {
    /// The name of the header in every version.
    static let headerName = "X-PowerAuth-Authorization"

    /// The names under which requests are signed, of every version: a client that takes the wrong one is told which.
    static let uriIDs: [String] =
        [
            "/operation/authorize", "/operation/cancel", "/operation/history", "/device/register/signature",
            "/pa/activation/remove", "/pa/recovery/confirm", "/pa/signature/validate", "/pa/token/create",
            "/pa/token/remove", "/pa/vault/unlock", "/pa/upgrade/start", "/pa/auth/validate",
        ]

    let version: MajorVersion
    /// The version in full, such as `3.3`.
    let versionName: String
    let activationID: String
    let applicationKey: String
    /// Part of the data that is signed.
    let nonce: [UInt8]
    let type: SignatureType
    /// The components, one for each factor.
    let bytes: [UInt8]
}

/// The proof of a token in the header of a request.
struct RequestToken {
    /// The name of the header in every version.
    static let headerName = "X-PowerAuth-Token"

    let version: MajorVersion
    let tokenID: String
    let nonce: [UInt8]
    let timestamp: Milliseconds
    /// Returns whether the proof was made with the token's secret.
    let isMade: @Sendable (_ secret: SecretBytes) -> Bool
}

/// The demand of an endpoint on the signature or code of a request.
struct CodeDemand {
    /// Names the endpoint in the data that is signed.
    let uriID: String
    let types: Set<SignatureType>
    /// The version of the endpoint; `nil` for one that devices of every version call.
    var version: MajorVersion?
    var admission = Admission()
}

/// Which activations an endpoint admits.
struct Admission {
    var states: Set<ServerActivation.Status> = [.active]
    /// Whether the endpoint belongs to an upgrade: it admits the keys of both versions while one is under way, and version 3
    /// even where the server demands version 4.
    var belongsToUpgrade = false
}
