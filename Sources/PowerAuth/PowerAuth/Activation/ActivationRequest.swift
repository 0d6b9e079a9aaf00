public import ExactJSON
import PowerAuthProtocol

/// The data for requesting a new activation.
public struct ActivationRequest: Sendable {
    enum Credentials: Sendable {
        case code(ActivationCode)
        case recovery(code: String, puk: String)
        case custom([String: String])
        case oidc(OIDCCredentials)

        /// The type of the credentials, and the attributes that identify the user.
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
    /// A one-time password that the server requires besides the credentials.
    ///
    /// Servers refuse an OTP that is checked at commit. An OTP that the server did not ask for activates at once, without the
    /// bank's commit.
    public var otp: String?
    /// Stored by the server with the activation: at most 4 000 characters.
    public var extras: String?
    /// Passed to the server's own code that checks the activation.
    public var customAttributes: [String: JSONValue] = [:]
    /// The operating system: at most 255 characters.
    public var platform = ActivationRequest.defaultPlatform
    /// A human-readable name of the machine: at most 255 characters.
    public var deviceInfo = ActivationRequest.defaultDeviceInfo

    /// Creates a request with an activation code: `CODE`, or `CODE#SIGNATURE` as in QR codes.
    ///
    /// A signature is verified before anything is sent.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidActivationCode`` for a malformed code.
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

    /// Creates a request with custom attributes that the server's own code identifies the user by.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidRequest`` for an empty dictionary.
    public init(identityAttributes: [String: String]) throws(MobileTokenError) {
        guard !identityAttributes.isEmpty else {
            throw MobileTokenError(.invalidRequest, "An attribute is missing that tells the server the user")
        }
        self.credentials = .custom(identityAttributes)
    }

    /// Creates a request with the redirect address of an OpenID provider.
    ///
    /// The first address with the attempt's state consumes the attempt, even if it is invalid otherwise. An address without that
    /// state changes nothing, because anyone could send it.
    ///
    /// - Parameters:
    ///   - authorization: The attempt from ``MobileTokenClient/oidc(providerID:)``.
    ///   - callback: The complete address, byte for byte as the browser received it.
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
    /// The attributes by which the server identifies the user.
    fileprivate var attributes: [String: String] {
        var attributes = [
            "method": "oidc", "providerId": self.providerID, "code": self.code.text, "nonce": self.nonce.text,
        ]
        attributes["codeVerifier"] = self.codeVerifier?.text
        return attributes
    }
}

extension ActivationRequest {
    /// Checks the lengths and characters of all fields.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidName``, ``MobileTokenError/Code/invalidRequest``.
    func check() throws(MobileTokenError) {
        if let name { try NameRule.check(name, of: "an activation") }
        try TextRule.check(self.otp, of: "otp")
        try TextRule.check(self.extras, of: "extras", atMost: 4_000)
        try TextRule.check(self.platform, of: "platform", atMost: 255)
        try TextRule.check(self.deviceInfo, of: "deviceInfo", atMost: 255)
        for (name, value) in self.credentials.attributes.identity {
            try TextRule.check(name, of: "identityAttributes")
            try TextRule.check(value, of: "identityAttributes")
        }
    }

    /// The outer layer, identical in all versions. The inner layer is encrypted separately.
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

extension ActivationRequest: CustomStringConvertible, CustomReflectable {
    /// The type of the credentials.
    public var description: String { "<activation by \(self.credentials.attributes.type)>" }
    /// Empty, so that `dump` reveals nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
