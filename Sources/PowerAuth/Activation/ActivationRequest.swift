public import ExactJSON
import PowerAuthProtocol

/// The data that a new activation is requested with.
public struct ActivationRequest: Sendable {
    enum Credentials: Sendable {
        case code(ActivationCode)
        case recovery(code: String, puk: String)
        case custom([String: String])
        case oidc(OIDCCredentials)

        /// The name of the kind, and how the server finds the user.
        var attributes: (type: String, identity: [String: String]) {
            switch self {
            case .code(let code): ("CODE", ["code": code.code])
            case .recovery(let code, let puk): ("RECOVERY", ["recoveryCode": code, "puk": puk])
            case .custom(let attributes): ("CUSTOM", attributes)
            case .oidc(let credentials): ("DIRECT", credentials.attributes)
            }
        }
    }

    let credentials: Credentials

    /// Shown to the user in lists of activations: 1 to 255 bytes of UTF-8 without control characters.
    public var name: String?
    /// A one-time password that the server asks for besides the credentials.
    public var otp: String?
    /// Kept by the server with the activation.
    public var extras: String?
    /// Handed to the server's own code that checks the activation.
    public var customAttributes: [String: JSONValue] = [:]
    /// The kind of system.
    public var platform = ActivationRequest.defaultPlatform
    /// The machine, for people.
    public var deviceInfo = ActivationRequest.defaultDeviceInfo

    /// Creates a request with an activation code, with or without the signature that QR codes carry: `CODE` or
    /// `CODE#SIGNATURE`.
    ///
    /// A signature, when there is one, must be the server's; that is checked before anything is sent.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidActivationCode`` when it is not of the form.
    public init(code: String) throws(MobileTokenError) {
        do {
            self.credentials = .code(try ActivationCode(parsing: code))
        } catch {
            throw MobileTokenError(.invalidActivationCode, "The activation code is malformed", underlying: error)
        }
    }

    /// Creates a request with a recovery code and its PUK.
    public init(recoveryCode: String, puk: String) {
        self.credentials = .recovery(code: recoveryCode, puk: puk)
    }

    /// Creates a request with whatever the server's own code knows users by.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidRequest`` when there is nothing.
    public init(identityAttributes: [String: String]) throws(MobileTokenError) {
        guard !identityAttributes.isEmpty else {
            throw MobileTokenError(.invalidRequest, "An attribute is missing that tells the server the user")
        }
        self.credentials = .custom(identityAttributes)
    }

    /// Creates a request with the address that an OpenID provider led back to.
    ///
    /// The first address that shows the attempt's state uses the attempt up, whatever else it says; one that does not may come
    /// from anyone, and changes nothing.
    ///
    /// - Parameters:
    ///   - authorization: The attempt that ``MobileTokenClient/oidc(providerID:)`` returned.
    ///   - callback: The address, whole and byte by byte as the browser was given it.
    /// - Throws: ``MobileTokenError/Code/oidcRedirectMismatch``, ``MobileTokenError/Code/oidcStateMismatch``,
    ///   ``MobileTokenError/Code/oidcParameterRepeated``, ``MobileTokenError/Code/oidcCodeMissing``,
    ///   ``MobileTokenError/Code/oidcRefused`` with the provider's code as ``MobileTokenError/serverCode``, or
    ///   ``MobileTokenError/Code/oidcAttemptUsed``.
    public init(oidc authorization: OIDCAuthorization, callback: String) throws(MobileTokenError) {
        self.credentials = .oidc(try authorization.credentials(from: callback))
    }

    #if os(Linux)
        private static let defaultPlatform = "linux"
    #else
        private static let defaultPlatform = "macos"
    #endif
    private static let defaultDeviceInfo = "swift-mobile-token \(SDKVersion.text)"
}

extension OIDCCredentials {
    /// The attributes by which the server finds the user.
    fileprivate var attributes: [String: String] {
        var attributes = [
            "method": "oidc", "providerId": self.providerID, "code": self.code.text, "nonce": self.nonce.text,
        ]
        attributes["codeVerifier"] = self.codeVerifier?.text
        return attributes
    }
}

extension ActivationRequest {
    /// The outer layer, the same in every version: who activates, around the inner layer that is encrypted by itself.
    struct OuterLayer: Encodable {
        let type: String
        let identityAttributes: [String: String]
        let activationData: JSONValue
        let customAttributes: [String: JSONValue]?

        init(_ request: ActivationRequest, activationData: JSONValue) {
            (self.type, self.identityAttributes) = request.credentials.attributes
            self.activationData = activationData
            self.customAttributes = request.customAttributes.isEmpty ? nil : request.customAttributes
        }
    }
}
