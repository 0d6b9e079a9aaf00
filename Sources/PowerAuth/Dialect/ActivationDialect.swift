import HTTPClientTransport
import PowerAuthCrypto
import PowerAuthProtocol

/// The codec of one activation: everything in requests, responses and stored keys that depends on the version of the protocol.
///
/// There is one implementation for each major version, in a folder of its own. It sends nothing and stores nothing: ``Activation``
/// does, and asks a dialect instead of asking which version it is.
protocol ActivationDialect: AnyObject, Sendable {
    var version: ProtocolVersion { get }
    /// The algorithms; `nil` in versions that leave no choice.
    var suite: AlgorithmSuite? { get }
    /// The number to compare by eye with what the server shows: eight digits.
    var fingerprint: String { get }

    /// Encrypts requests for this activation.
    var encryption: any RequestEncryption { get }
    /// Encrypts requests for the application.
    var applicationEncryption: any RequestEncryption { get }

    // MARK: Factors

    /// Signs as the factor "something you have".
    var possessionKey: SecretBytes { get }
    /// Returns the knowledge key, which is a wrong one for a wrong password. Takes milliseconds in some versions.
    func knowledgeKey(of record: ActivationRecord, password: SecretBytes, _ choice: KeyChoice) throws -> SecretBytes
    /// Returns the biometry key.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidAuthentication`` when the factor is not set up.
    func biometryKey(
        of record: ActivationRecord,
        unlockedWith unlockKey: SecretBytes,
        _ choice: KeyChoice
    ) throws -> SecretBytes
    /// Throws unless a signature may combine these factors.
    func check(_ type: SignatureType) throws(MobileTokenError)

    /// Returns what is different after every change of the knowledge key, and of its version.
    func knowledgeGeneration(of record: ActivationRecord, _ choice: KeyChoice) -> [UInt8]
    /// Throws unless a request may be signed in this dialect now.
    ///
    /// - Parameter isConfirming: `true` if the request may come before a confirmation that the server waits for.
    /// - Throws: ``OutdatedDialect`` when the record is of another version by now, ``AwaitingConfirmation``.
    func checkUse(of record: ActivationRecord, isConfirming: Bool) throws

    /// The way in which factors change.
    var factorChange: FactorChange { get }

    // MARK: Signing

    /// Returns the header that proves who sent a request.
    func signatureHeader(_ input: SignatureInput, nonce: [UInt8]) throws -> (name: String, value: String)

    /// Returns the digits of an offline signature.
    func offlineSignature(_ input: SignatureInput, componentLength: Int) throws -> String

    /// Returns the header that carries a token.
    func tokenHeader(_ token: ActivationRecord.Token, nonce: [UInt8], timestamp: Int64) throws -> TokenHeader

    /// Returns whether the server made the signature of `data`.
    func isValid(_ signature: ServerSignature, of data: [UInt8]) -> Bool

    // MARK: Calls that every version has

    /// Returns the request that asks whether a code is right.
    func validation(for reason: ValidationReason) throws(MobileTokenError) -> EndpointRequest
    /// Reads the response to ``ServerEndpoint/tokenCreate``.
    func token(in response: [UInt8], of path: String) throws -> ActivationRecord.Token
    /// Returns the request for the activation's status, which nothing signs, and the reader of the response.
    func statusQuery() throws -> StatusQuery

    // MARK: The vault and the device's keys

    /// Returns the device's public key for ECDSA, compressed.
    func devicePublicKey(of record: ActivationRecord) throws -> [UInt8]

    /// Returns the request that opens the vault.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidAuthentication`` for factors that do not open this key, and
    ///   ``MobileTokenError/Code/notSupported`` for a key that the version lacks.
    func vaultRequest(for key: VaultKey, _ type: SignatureType, _ reason: Activation.VaultUnlockReason) throws
        -> EndpointRequest
    /// Reads the response to ``ServerEndpoint/vaultUnlock``.
    func vaultKey(in response: [UInt8], of path: String) throws -> SecretBytes
    /// Derives a key for the application's own data.
    func dataKey(_ key: VaultKey, from vaultKey: SecretBytes, index: UInt64, byteCount: Int) throws -> SecretBytes
    /// Returns the device's private keys, which are wiped when the value goes.
    func devicePrivateKeys(of record: ActivationRecord, vaultKey: SecretBytes) throws -> DevicePrivateKeys
}

extension ActivationDialect {
    func encryption(in scope: EncryptionScope) -> any RequestEncryption {
        switch scope {
        case .application: self.applicationEncryption
        case .activation: self.encryption
        }
    }
}

/// The way in which the factors of an activation change.
enum FactorChange {
    /// On this side alone: the server never knows what protects a key here.
    case local(Version3Dialect)
    /// By agreement with the server on other keys.
    case agreed(Version4Dialect)
}

/// The data of a signature, and the keys and the counter that make it.
struct SignatureInput {
    let data: SignatureData
    let keys: SigningKeys
    let counter: SigningCounter
}

/// A key that the vault is opened for.
enum VaultKey: Sendable {
    /// The one that ``Activation/deriveDataKey(index:with:reason:)`` derives from.
    case data
    case application(Activation.ApplicationKeyBase)
    case devicePrivateKeys
}

/// A request for an activation's status, and the reader of the body of the response.
struct StatusQuery: Sendable {
    let request: EndpointRequest
    let read: @Sendable (_ response: [UInt8]) throws -> StatusReport
}

/// The purpose of a signature that serves nothing else.
enum ValidationReason: String {
    case password = "VALIDATE_PASSWORD"
    case counterSynchronization = "COUNTER_SYNCHRONIZATION"
    case newPassword = "CONFIRM_NEW_PASSWORD"
    case newBiometry = "CONFIRM_BIOMETRY_ADD"
}
