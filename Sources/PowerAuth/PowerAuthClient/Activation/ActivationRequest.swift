package import ExactJSON
package import PowerAuthProtocol

/// The data for requesting a new activation.
public struct ActivationRequest: Sendable {
    package enum Credentials: Sendable {
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
    package var attributes: [String: JSONValue] = [:]
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

    package init(credentials: Credentials) { self.credentials = credentials }

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
            self.customAttributes = request.attributes.isEmpty ? nil : request.attributes
        }
    }
}

extension ActivationRequest: CustomStringConvertible, CustomReflectable {
    /// The type of the credentials.
    public var description: String { "<activation by \(self.credentials.attributes.type)>" }
    /// Empty, so that `dump` reveals nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
