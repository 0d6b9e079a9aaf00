import PowerAuthCrypto
import PowerAuthProtocol

/// An endpoint as the wire has it: a row of the table of calls, or an endpoint of the application's own.
///
/// All that sends reads its columns here: where a request goes, what proves who sent it, how it is encrypted, which of the two
/// comes first, and what stands around its content.
struct ServerEndpoint: Sendable, Hashable {
    let place: Place
    let proof: Proof
    /// `nil` where bodies are in the clear.
    let encryption: Encryption?
    let order: Order
    let wrapping: Wrapping

    init(
        _ place: Place,
        _ proof: Proof = .none,
        _ encryption: Encryption? = nil,
        _ order: Order = .signThenEncrypt,
        _ wrapping: Wrapping = .neither
    ) {
        self.place = place
        self.proof = proof
        self.encryption = encryption
        self.order = order
        self.wrapping = wrapping
    }

    /// The path of a request.
    enum Place: Sendable, Hashable {
        /// Below `/pa/v3` and `/pa/v4`.
        case versions3And4(String)
        /// Below `/pa/v3`; later versions lack the call.
        case version3(String)
        /// Below `/pa/v4`; earlier versions lack the call.
        case version4(String)
        /// The same in all versions.
        case path(String)
    }

    /// The proof of who sent a request.
    enum Proof: Sendable, Hashable {
        case none
        /// A token of this name, made with at least these factors.
        case token(name: String, SignatureType)
        /// A code over the body and this identifier, of such factors.
        case code(uriID: String, Factors)
    }

    /// The factors that a server takes in a code. What a server can be set up to take passes here, since only it knows.
    enum Factors: Sendable, Hashable {
        case any, possession, withKnowledge, twoOrMore

        func allows(_ type: SignatureType) -> Bool {
            switch self {
            case .any: true
            case .possession: type == .possession
            case .withKnowledge: type.factors.contains(.knowledge)
            case .twoOrMore: type.factors.count >= 2
            }
        }
    }

    /// The encryption of a request and its response.
    struct Encryption: Sendable, Hashable {
        let scope: EncryptionScope
        let sharedInfo: SharedInfo

        static func application(_ sharedInfo: SharedInfo) -> Self { Self(scope: .application, sharedInfo: sharedInfo) }
        static func activation(_ sharedInfo: SharedInfo) -> Self { Self(scope: .activation, sharedInfo: sharedInfo) }
    }

    /// The order of signing and encrypting, and so the bytes that a code covers.
    enum Order: Sendable, Hashable {
        /// The plaintext: the server opens the envelope first. So do all endpoints but those that servers bring along.
        case signThenEncrypt
        /// The envelope, as it is sent.
        case encryptThenSign
    }

    /// The bodies that stand in an envelope of JSON: requests in `requestObject`, responses in `responseObject`.
    struct Wrapping: Sendable, Hashable {
        let request: Bool
        let response: Bool

        static let neither = Self(request: false, response: false)
        static let both = Self(request: true, response: true)
        static let response = Self(request: false, response: true)
    }
}

extension ServerEndpoint {
    /// - Throws: ``MobileTokenError/Code/notSupported`` when the version lacks the call.
    func path(in version: ProtocolVersion) throws(MobileTokenError) -> String {
        switch (self.place, version.isVersion3) {
        case (.path(let path), _): path
        case (.versions3And4(let path), true), (.version3(let path), true): "/pa/v3" + path
        case (.versions3And4(let path), false), (.version4(let path), false): "/pa/v4" + path
        case (.version3(let path), false): throw .unsupported("Version 4 of the protocol has no \(path)")
        case (.version4(let path), true): throw .unsupported("Version 3 of the protocol has no \(path)")
        }
    }

    func encode(_ content: some Encodable) throws(MobileTokenError) -> [UInt8] {
        self.wrapping.request ? try Wire.encode(Wire.Request(requestObject: content)) : try Wire.encode(content)
    }

    func decode<Content: Decodable>(
        _ type: Content.Type,
        from response: ChannelResponse,
        of path: String
    ) throws -> Content {
        guard self.wrapping.response else { return try Wire.decode(type, from: response, of: path) }
        return try Wire.decode(Wire.Response<Content>.self, from: response, of: path).responseObject
    }
}

/// The call's share in the derivation of an encrypted request's keys, so that an envelope for one call cannot be opened for another.
enum SharedInfo: String, Sendable {
    /// The application's own endpoints, and whatever else has no keys of its own; followed by the scope.
    case generic = "/pa/generic"
    case activation = "/pa/activation"
    case tokenCreate = "/pa/token/create"
    case vaultUnlock = "/pa/vault/unlock"
    case passwordChange = "/pa/password/change"
    case biometryAdd = "/pa/biometry/add"
    case upgradeStart = "/pa/upgrade/start"
    case recoveryConfirm = "/pa/recovery/confirm"

    func name(in scope: EncryptionScope) -> String {
        switch (self, scope) {
        case (.generic, .application): self.rawValue + "/application"
        case (.generic, .activation): self.rawValue + "/activation"
        default: self.rawValue
        }
    }
}
