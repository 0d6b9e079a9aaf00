import CloudCalls
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
            "/api/activation/code",
        ]
        + [
            "activation/remove", "activation/rename", "activation/confirm", "signature/validate", "auth/validate",
            "token/create", "token/remove", "vault/unlock", "password/change", "biometry/add", "biometry/remove",
            "upgrade/start", "upgrade/confirm", "recovery/confirm",
        ].map { "/pa/" + $0 }

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
    /// The version in full, such as `3.3`.
    let versionName: String
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
    /// The accepted types; a code of another type is refused before it is looked at.
    let types: Set<SignatureType>
    /// The version of the endpoint; `nil` for one that devices of every version call. It is judged after the code.
    var version: MajorVersion?
    var admission = Admission()
    /// Indicates whether a wrong type is called so. Most endpoints only say that the code is invalid.
    var namesWrongType = false

    /// Returns the types that the endpoint takes in a generation of servers.
    func types(in profile: EmulatorServerProfile) -> Set<SignatureType> { Self.types(self.types, in: profile) }

    /// Adds the type with three factors where it is still accepted beside both of those with two.
    static func types(_ types: Set<SignatureType>, in profile: EmulatorServerProfile) -> Set<SignatureType> {
        guard profile.acceptsThreeFactors, types.isSuperset(of: .twoFactors) else { return types }
        return types.union([.possessionKnowledgeBiometry])
    }
}

/// The data that the code of a request covers.
struct CodeCover {
    /// The content of the envelope, in place of the body.
    var plaintext: [UInt8]?
    /// Looks into an envelope that is opened only after the code was judged: to find out for which bytes a wrong code is
    /// right.
    var peek: ((Backend, inout RequestContext) -> [UInt8]?)?
}

/// The activations that an endpoint admits.
struct Admission {
    var states: Set<ServerActivation.Status> = [.active]
    /// Indicates whether the endpoint belongs to an upgrade: it admits the keys of both versions while one is under way, and version 3
    /// even where the server demands version 4.
    var belongsToUpgrade = false
    /// Indicates whether one that is not committed yet is admitted while its device has not confirmed it.
    var includesUnconfirmed = false

    func admits(_ activation: ServerActivation) -> Bool {
        if self.states.contains(activation.status) { return true }
        return self.includesUnconfirmed && activation.status == .pendingCommit
            && activation.device?.version4?.awaitsConfirmation == true
    }
}
