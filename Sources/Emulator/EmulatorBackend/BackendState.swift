import MobileTokenCloud
package import PowerAuthCrypto
import PowerAuthProtocol

/// Everything that a request may change, and that an exported document contains.
package struct BackendState: Sendable, Codable {
    /// The clients' application.
    package var defaultApplicationID: String
    package var applications = Table<ServerApplication>()
    package var activations = Registry<ServerActivation>()
    /// The activation waiting for each code.
    var offers = Table<String>()
    var tokens = Table<ServerToken>()
    var temporaryKeys = Table<ServerTemporaryKey>()
    var recoveryCodes = Table<RecoveryCode>()
    package var operations = OperationLedger()
    package var inbox = Inbox()
    /// The bank's callback addresses.
    var callbacks = Table<Callback>()
    /// Each activation's push device.
    package var devices = Table<PushDevice>()
    var oidcProviders = Table<EmulatorOIDCProvider>()
    /// The sign-ins of OpenID authorization codes, by the code's hash.
    var oidcGrants = Table<OIDCGrant>()
    /// The cloud API's users besides the configuration's.
    var cloudUsers = Table<CloudAPI.User>()
    /// The templates added to the configuration's, by name; `null` for removed ones.
    var templates = Table<ExportableJSON>()
    /// The stored virtual devices, in their own format.
    package var virtualDevices = Table<ExportableJSON>()
    var replays = ReplayCache()
    var randomness: SeededRandomness
    /// At most the first deadline of an activation; nil if there is none.
    var nextActivationExpiration: Milliseconds? = 0
    /// The number of request bytes that created the state; see ``EmulatorCapacity/storedBytes``.
    var storedBytes = 0
    /// The earliest time of the next sweep of expired temporary keys.
    var nextTemporaryKeySweep: Milliseconds = 0
    /// The data file's versions of values outside tables.
    var writtenRoot: StateRoot?

    /// All properties except the four above, which are derived.
    private enum CodingKeys: String, CodingKey {
        case defaultApplicationID, applications, activations, offers, tokens, temporaryKeys, recoveryCodes, operations
        case inbox, callbacks, devices, virtualDevices, oidcProviders, oidcGrants, cloudUsers, templates, replays
        case randomness
    }

    init(application: ServerApplication, randomness: SeededRandomness) {
        self.defaultApplicationID = application.id
        self.randomness = randomness
        self.applications[application.id] = application
    }
}

extension SeededRandomness {
    /// Returns secret random bytes.
    mutating func secret(_ count: Int) -> SecretBytes {
        SecretBytes(copying: self.bytes(count))
    }

    package mutating func privateKey() throws(CryptoError) -> P256PrivateKey {
        // All but one number in 2³² is a key, so a sequence that never gives one is broken.
        for _ in 0..<16 {
            if let key = try? P256PrivateKey(scalar: self.secret(32)) { return key }
        }
        throw CryptoError(.invalidPrivateKey)
    }
}

extension ServerApplication {
    init(id: String, roles: [String] = [], randomness: inout SeededRandomness) throws(CryptoError) {
        let key = Base64.encode(randomness.bytes(16))
        guard let secret = ApplicationSecret(bytes: randomness.secret(16)) else { throw CryptoError(.invalidLength) }
        try self.init(id: id, key: key, secret: secret, masterKey: randomness.privateKey(), roles: roles)
    }
}
