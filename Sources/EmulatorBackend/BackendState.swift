package import PowerAuthCrypto
import PowerAuthProtocol

/// Everything that a request may change, and everything that an exported document holds.
package struct BackendState: Sendable, Codable {
    /// The application that clients are configured for.
    package var defaultApplicationID: String
    package var applications = Table<ServerApplication>()
    package var activations = Registry<ServerActivation>()
    /// The activation that waits for a code.
    var offers = Table<String>()
    var tokens = Table<ServerToken>()
    var temporaryKeys = Table<ServerTemporaryKey>()
    var recoveryCodes = Table<RecoveryCode>()
    package var operations = OperationLedger()
    package var inbox = Inbox()
    /// The addresses that the bank wants to be told at.
    var callbacks = Table<Callback>()
    /// The device of each activation that takes push messages.
    package var devices = Table<PushDevice>()
    var oidcProviders = Table<EmulatorOIDCProvider>()
    /// The sign-ins that the codes of the OpenID providers represent, by the code's hash.
    var oidcGrants = Table<OIDCGrant>()
    /// The users of the cloud API that were added to that of the configuration.
    var cloudUsers = Table<CloudUser>()
    /// The templates that were added to those of the configuration, by name; `null` for those that were removed.
    var templates = Table<ExportableJSON>()
    /// All that the server's virtual devices keep, in the words of those who operate them.
    package var virtualDevices = Table<ExportableJSON>()
    var replays = ReplayCache()
    var randomness: Randomness
    /// Not later than the first deadline of an activation; nil when there is none.
    var nextActivationExpiration: Milliseconds? = 0
    /// The bytes that all of it was made of; see ``EmulatorCapacity/storedBytes``.
    var storedBytes = 0
    /// The time from which it pays off to look for expired temporary keys.
    var nextTemporaryKeySweep: Milliseconds = 0
    /// The versions that the data file has of values that stand in no table.
    var writtenRoot: StateRoot?

    /// All but the four above, which follow from the rest.
    private enum CodingKeys: String, CodingKey {
        case defaultApplicationID, applications, activations, offers, tokens, temporaryKeys, recoveryCodes, operations
        case inbox, callbacks, devices, virtualDevices, oidcProviders, oidcGrants, cloudUsers, templates, replays
        case randomness
    }

    init(application: ServerApplication, randomness: Randomness) {
        self.defaultApplicationID = application.id
        self.randomness = randomness
        self.applications[application.id] = application
    }
}

extension Randomness {
    /// Random bytes that are kept secret.
    mutating func secret(_ count: Int) -> SecretBytes {
        SecretBytes(copying: self.bytes(count))
    }

    package mutating func privateKey() throws(CryptoError) -> P256PrivateKey {
        // All but one number in 2³² is a key; a sequence that never gives one is broken.
        for _ in 0..<16 {
            if let key = try? P256PrivateKey(scalar: self.secret(32)) { return key }
        }
        throw CryptoError(.invalidPrivateKey)
    }
}

extension ServerApplication {
    init(id: String, roles: [String] = [], randomness: inout Randomness) throws(CryptoError) {
        let key = Base64.encode(randomness.bytes(16))
        guard let secret = ApplicationSecret(bytes: randomness.secret(16)) else { throw CryptoError(.invalidLength) }
        try self.init(id: id, key: key, secret: secret, masterKey: randomness.privateKey(), roles: roles)
    }
}
