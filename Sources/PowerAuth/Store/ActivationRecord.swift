package import Basics
public import Foundation
package import PowerAuthCrypto
package import PowerAuthProtocol

/// The durable state of one activation: everything a process needs to go on signing after a restart.
///
/// Nothing here can unlock the knowledge factor without the password, or the device's private key without the vault.
/// A store keeps a record in the form that ``Sealing`` gives it.
public struct ActivationRecord: Sendable, Equatable {
    /// The server's identifier of the activation.
    public let activationID: String
    /// The name the activation was created with.
    public internal(set) var name: String?
    /// When the activation was made, by the local clock.
    public let createdAt: Date

    package let applicationKey: String
    package let version: ProtocolVersion

    /// Device and server public keys, compressed.
    package let devicePublicKey: [UInt8]
    package let serverPublicKey: [UInt8]

    package let possessionKey: SecretBytes
    package let transportKey: SecretBytes
    /// The knowledge key under PBKDF2(password, salt): 16 bytes without integrity, on purpose.
    package var encryptedKnowledgeKey: SecretBytes
    package var knowledgeSalt: [UInt8]
    /// The biometry key under the key from outside; `nil` while the factor is not set up.
    package var encryptedBiometryKey: SecretBytes?
    /// The device's private key under the vault key.
    package let encryptedDevicePrivateKey: SecretBytes

    /// The next counter value to sign with. Moved, durably, before anything is signed.
    package var counter: HashCounter {
        didSet { self.history.moves += UInt64(self.counter.byte &- oldValue.byte) }
    }
    /// How far the counter has come. Follows ``counter`` by itself.
    package private(set) var history: CounterHistory
    /// Whether the server's counter must be asked for before the next signature: a signed request went out whose answer
    /// never came, or the store noticed that it holds an older state than it once did.
    package var isUnsettled: Bool
    /// Whether the store knows that this state is so much older than one that has signed that it cannot be made up for.
    /// Not kept: the store finds it out each time. Nothing may be signed from such a state.
    package private(set) var isRolledBack = false

    /// Tokens by name.
    package var tokens: [ExactString: Token]

    package init(
        activationID: String,
        name: String?,
        applicationKey: String,
        version: ProtocolVersion,
        createdAt: Date,
        devicePublicKey: [UInt8],
        serverPublicKey: [UInt8],
        possessionKey: SecretBytes,
        transportKey: SecretBytes,
        encryptedKnowledgeKey: SecretBytes,
        knowledgeSalt: [UInt8],
        encryptedBiometryKey: SecretBytes? = nil,
        encryptedDevicePrivateKey: SecretBytes,
        counter: HashCounter,
        history: CounterHistory = CounterHistory(),
        isUnsettled: Bool = false,
        tokens: [ExactString: Token] = [:]
    ) {
        self.activationID = activationID
        self.name = name
        self.applicationKey = applicationKey
        self.version = version
        self.createdAt = createdAt
        self.devicePublicKey = devicePublicKey
        self.serverPublicKey = serverPublicKey
        self.possessionKey = possessionKey
        self.transportKey = transportKey
        self.encryptedKnowledgeKey = encryptedKnowledgeKey
        self.knowledgeSalt = knowledgeSalt
        self.encryptedBiometryKey = encryptedBiometryKey
        self.encryptedDevicePrivateKey = encryptedDevicePrivateKey
        self.counter = counter
        self.history = history
        self.isUnsettled = isUnsettled
        self.tokens = tokens
    }

    /// Notes that the server's counter equals ours now: it accepted a signature made with the value before this one, or
    /// its status says so. Not for a refused signature, which moves only our side.
    package mutating func confirmCounter() {
        self.history.confirmedMoves = self.history.moves
    }

    /// The most counter values that ``catchUp(to:)`` passes over: some tenths of a second's work.
    package static let longestCatchUp: UInt64 = 100_000

    /// Moves the counter of a state that was put back to where it had come before, so that no value is used again.
    ///
    /// - Parameter mark: A count of moves that was once committed. Every value before it may have signed something, offline
    ///   too, where no server could tell.
    package mutating func catchUp(to mark: UInt64) {
        guard self.history.moves < mark else { return }
        self.isUnsettled = true
        guard mark - self.history.moves <= Self.longestCatchUp else {
            self.isRolledBack = true
            return
        }
        while self.history.moves < mark { self.counter = self.counter.next() }
    }

    /// A token as the server handed it out.
    package struct Token: Sendable, Equatable {
        package let id: String
        package let secret: SecretBytes

        package init(id: String, secret: SecretBytes) {
            self.id = id
            self.secret = secret
        }
    }
}

extension ActivationRecord: CustomStringConvertible {
    /// The identifier alone.
    public var description: String { "activation \(self.activationID)" }
}
