import MobileTokenCloud
import PowerAuthCrypto
import PowerAuthProtocol

/// The proof of an activation's keys in a request header: a signature, or an authentication code.
struct RequestCode {
    /// The name of the header in every version.
    static let headerName = "X-PowerAuth-Authorization"

    /// The URI identifiers of all versions, so that a client with a wrong one gets a hint.
    static let uriIDs: [String] =
        [
            "/operation/authorize", "/operation/cancel", "/operation/history", "/api/activation/code",
        ]
        + [
            "activation/remove", "activation/rename", "activation/confirm", "signature/validate", "auth/validate",
            "token/create", "token/remove", "vault/unlock", "password/change", "biometry/add", "biometry/remove",
            "upgrade/start", "upgrade/confirm", "recovery/confirm",
        ].map { "/pa/" + $0 }

    let version: MajorVersion
    /// The full version, such as `3.3`.
    let versionName: String
    let activationID: String
    let applicationKey: String
    /// A part of the signed data.
    let nonce: [UInt8]
    let type: SignatureType
    /// The components, one per factor.
    let bytes: [UInt8]
}

/// The proof of a token in a request header.
struct RequestToken {
    /// The name of the header in every version.
    static let headerName = "X-PowerAuth-Token"

    let version: MajorVersion
    /// The full version, such as `3.3`.
    let versionName: String
    let tokenID: String
    let nonce: [UInt8]
    let timestamp: Milliseconds
    /// Returns whether the proof was made with the token's secret.
    let isMade: @Sendable (_ secret: SecretBytes) -> Bool
}

/// An endpoint's requirements for a request's signature or code.
struct SignaturePolicy {
    /// The endpoint's name in the signed data.
    let uriID: String
    /// The accepted types; a code of another type is refused without verification.
    var types: Set<SignatureType>
    /// The version of the endpoint, checked after the code; `nil` for devices of every version.
    var version: MajorVersion?
    var admission = Admission()
    /// Indicates whether three-factor codes are also accepted, by the generation of servers that knows them.
    var takesThreeFactors = false

    /// Returns the accepted types in a generation of servers.
    func types(in profile: EmulatorServerProfile) -> Set<SignatureType> {
        guard self.takesThreeFactors, profile.acceptsThreeFactors else { return self.types }
        return self.types.union([.possessionKnowledgeBiometry])
    }
}

extension SignaturePolicy {
    /// An endpoint of version 3 that also takes codes of three factors.
    init(version3 uriID: String, types: Set<SignatureType>) {
        self.init(uriID: uriID, types: types, version: .version3, takesThreeFactors: true)
    }
}

/// The data that a request's code covers.
struct SignedPayload {
    /// The content of the envelope, instead of the body.
    var plaintext: [UInt8]?
    /// Reads an envelope that is opened only after the code's verification, to find the bytes for which an invalid code is valid.
    var peek: ((Backend, inout RequestContext) -> [UInt8]?)?
}

/// The activations that an endpoint admits.
struct Admission {
    var states: Set<ServerActivation.Status> = [.active]
    /// Indicates whether the endpoint belongs to an upgrade: it admits both versions' keys during one, and version 3 even if the
    /// server requires version 4.
    var belongsToUpgrade = false
    /// Indicates whether an uncommitted activation is admitted until its device has confirmed it.
    var includesUnconfirmed = false

    func admits(_ activation: ServerActivation) -> Bool {
        if self.states.contains(activation.status) { return true }
        return self.includesUnconfirmed && activation.status == .pendingCommit
            && activation.device?.version4?.awaitsConfirmation == true
    }
}
