import PowerAuthCrypto
import PowerAuthProtocol

/// The codec of one activation: everything that depends on the protocol version. There is one implementation for each major
/// version. It neither sends nor stores: ``Activation`` does.
protocol ActivationDialect: AnyObject, Sendable {
    var version: ProtocolVersion { get }
    /// The algorithms; `nil` in versions with only one choice.
    var suite: AlgorithmSuite? { get }
    /// Eight digits for comparing by eye with the server's display.
    var fingerprint: String { get }

    /// Encrypts in the activation scope.
    var encryption: any RequestEncryption { get }
    /// Encrypts in the application scope.
    var applicationEncryption: any RequestEncryption { get }

    // MARK: Factors

    /// The key of the factor "something you have".
    var possessionKey: SecretBytes { get }
    /// Returns the knowledge key; a wrong password yields a wrong key. Takes milliseconds in some versions.
    func knowledgeKey(of record: ActivationRecord, password: SecretBytes, _ choice: KeyChoice) throws -> SecretBytes
    /// Returns the biometry key.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidAuthentication`` if the factor is not set up.
    func biometryKey(
        of record: ActivationRecord,
        unlockedWith unlockKey: SecretBytes,
        _ choice: KeyChoice
    ) throws -> SecretBytes
    /// Throws unless a signature may combine these factors.
    func check(_ type: SignatureType) throws(MobileTokenError)

    /// Returns an identifier that changes with the knowledge key and its version.
    func knowledgeGeneration(of record: ActivationRecord, _ choice: KeyChoice) -> [UInt8]
    /// Throws unless a request may be signed in this dialect now.
    ///
    /// - Parameter isConfirming: `true` if the request may precede a pending confirmation.
    /// - Throws: ``OutdatedDialect`` if the record has another version, or ``AwaitingConfirmation``.
    func checkUse(of record: ActivationRecord, isConfirming: Bool) throws

    var factorChange: FactorChange { get }

    // MARK: Signing

    func signatureHeader(_ input: SignatureInput, nonce: [UInt8]) throws -> (name: String, value: String)

    /// Returns the digits of an offline signature.
    func offlineSignature(_ input: SignatureInput, componentLength: Int) throws -> String

    func tokenHeader(_ token: ActivationRecord.Token, nonce: [UInt8], timestamp: Int64) throws -> TokenHeader

    /// Returns whether the server signed `data`.
    func isValid(_ signature: ServerSignature, of data: [UInt8]) -> Bool

    // MARK: Calls that every version has

    /// Returns the request that validates a code.
    func validation(for reason: ValidationReason) throws(MobileTokenError) -> EndpointRequest
    /// Reads the response to ``ServerEndpoint/tokenCreate``.
    func token(in response: [UInt8], of path: String) throws -> ActivationRecord.Token
    /// Returns the unauthenticated status request and the reader of its response.
    func statusQuery() throws -> StatusQuery

    // MARK: The vault and the device's keys

    /// Returns the device's ECDSA key in compressed form.
    func devicePublicKey(of record: ActivationRecord) throws -> [UInt8]

    /// Returns the request that unlocks the vault.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidAuthentication`` for factors that cannot unlock this key, and
    ///   ``MobileTokenError/Code/notSupported`` for a key that the version lacks.
    func vaultRequest(for key: VaultKey, _ type: SignatureType, _ reason: String) throws
        -> EndpointRequest
    /// Reads the response to ``ServerEndpoint/vaultUnlock``.
    func vaultKey(in response: [UInt8], of path: String) throws -> SecretBytes
    /// Derives a key for the application's own data.
    func dataKey(_ key: VaultKey, from vaultKey: SecretBytes, index: UInt64, byteCount: Int) throws -> SecretBytes
    /// Returns the device's private keys, wiped with the value.
    func devicePrivateKeys(of record: ActivationRecord, vaultKey: SecretBytes) throws -> DevicePrivateKeys
}

extension ActivationDialect {
    func encryption(in scope: EnvelopeScope) -> any RequestEncryption {
        switch scope {
        case .application: self.applicationEncryption
        case .activation: self.encryption
        }
    }
}

enum FactorChange {
    /// Locally: the server does not know how the device protects its keys.
    case local(Version3Dialect)
    /// By agreement with the server on new keys.
    case agreed(Version4Dialect)
}

struct SignatureInput {
    let data: SignatureData
    let keys: SigningKeys
    let counter: SigningCounter
}

package enum VaultKey: Sendable {
    /// The base key of `deriveDataKey(index:with:reason:)`.
    case data
    case application(Base)
    case devicePrivateKeys

    /// The factors that unlock a key for the application's own data.
    package enum Base: Sendable {
        case knowledge
        case twoFactors
    }
}

struct StatusQuery: Sendable {
    let request: EndpointRequest
    let read: @Sendable (_ response: [UInt8]) throws -> StatusReport
}

/// The purpose of a signature that only validates factors.
enum ValidationReason: String {
    case password = "VALIDATE_PASSWORD"
    case counterSynchronization = "COUNTER_SYNCHRONIZATION"
    case newPassword = "CONFIRM_NEW_PASSWORD"
    case newBiometry = "CONFIRM_BIOMETRY_ADD"
}
