package import PowerAuthProtocol

/// An endpoint on the wire: a standard call or one of the application's own. It describes the path, the proof of the sender, the
/// encryption, the order of signing and encrypting, and the wrapping.
package struct ServerEndpoint: Sendable, Hashable {
    let place: Place
    package let proof: Proof
    /// `nil` for plaintext bodies.
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

    /// Creates a standard call that takes a code, which covers the path without the version, and the envelope if there is one.
    init(
        _ place: Place,
        code factors: Factors,
        in encryption: Encryption? = nil,
        _ wrapping: Wrapping = .neither
    ) {
        let order: Order = encryption == nil ? .signThenEncrypt : .encryptThenSign
        self.init(place, .code(uriID: "/pa" + place.path, factors), encryption, order, wrapping)
    }

    /// Creates an endpoint of the application's own.
    package init(_ path: String, _ proof: Proof, in scope: EnvelopeScope?, wrapsRequest: Bool, wrapsResponse: Bool) {
        self.init(
            .path(path),
            proof,
            scope.map { Encryption(scope: $0, sharedInfo: .generic) },
            .signThenEncrypt,
            Wrapping(request: wrapsRequest, response: wrapsResponse)
        )
    }

    enum Place: Sendable, Hashable {
        /// Below `/pa/v3` and `/pa/v4`.
        case versions3And4(String)
        /// Below `/pa/v3` only.
        case version3(String)
        /// Below `/pa/v4` only.
        case version4(String)
        /// The same in all versions.
        case path(String)

        fileprivate var path: String {
            switch self {
            case .versions3And4(let path), .version3(let path), .version4(let path), .path(let path): path
            }
        }
    }

    package enum Proof: Sendable, Hashable {
        case none
        /// A named token with at least these factors.
        case token(name: String, SignatureType)
        /// A code over the body and this identifier.
        case code(uriID: String, Factors)
    }

    /// The factors that a server accepts in a code. Combinations that depend on its configuration are allowed here.
    package enum Factors: Sendable, Hashable {
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

    struct Encryption: Sendable, Hashable {
        let scope: EnvelopeScope
        let sharedInfo: SharedInfo

        static func application(_ sharedInfo: SharedInfo) -> Self { Self(scope: .application, sharedInfo: sharedInfo) }
        static func activation(_ sharedInfo: SharedInfo) -> Self { Self(scope: .activation, sharedInfo: sharedInfo) }
    }

    /// The order of signing and encrypting, which determines the bytes that a code covers.
    enum Order: Sendable, Hashable {
        /// The code covers the plaintext. All endpoints but the standard ones use this.
        case signThenEncrypt
        /// The code covers the envelope, as sent.
        case encryptThenSign
    }

    /// Wrapped bodies: requests in `requestObject`, responses in `responseObject`.
    struct Wrapping: Sendable, Hashable {
        let request: Bool
        let response: Bool

        static let neither = Self(request: false, response: false)
        static let both = Self(request: true, response: true)
        static let response = Self(request: false, response: true)
    }
}

extension ServerEndpoint {
    /// - Throws: ``MobileTokenError/Code/notSupported`` if the version lacks the call.
    package func path(in version: ProtocolVersion) throws(MobileTokenError) -> String {
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

    package func decode<Content: Decodable>(
        _ type: Content.Type,
        from response: ServerResponse,
        of path: String
    ) throws -> Content {
        guard self.wrapping.response else { return try Wire.decode(type, from: response, of: path) }
        return try Wire.decode(Wire.Response<Content>.self, from: response, of: path).responseObject
    }
}

/// Input of an encrypted request's key derivation, so that an envelope for one call cannot be opened for another.
enum SharedInfo: String, Sendable {
    /// The application's own endpoints and calls without a value of their own; followed by the scope.
    case generic = "/pa/generic"
    case activation = "/pa/activation"
    case tokenCreate = "/pa/token/create"
    case vaultUnlock = "/pa/vault/unlock"
    case passwordChange = "/pa/password/change"
    case biometryAdd = "/pa/biometry/add"
    case upgradeStart = "/pa/upgrade/start"
    case recoveryConfirm = "/pa/recovery/confirm"

    func name(in scope: EnvelopeScope) -> String {
        switch (self, scope) {
        case (.generic, .application): self.rawValue + "/application"
        case (.generic, .activation): self.rawValue + "/activation"
        default: self.rawValue
        }
    }
}
