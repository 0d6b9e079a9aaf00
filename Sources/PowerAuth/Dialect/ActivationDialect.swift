import HTTPClientTransport
import PowerAuthCrypto
import PowerAuthProtocol

/// How one activation speaks with the server: everything that depends on the version of the protocol.
///
/// There is one implementation for each major version, in a folder of its own. All other code asks a dialect instead of asking
/// which version it is.
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
    /// - Parameter isConfirming: Whether the request may come before a confirmation that the server waits for.
    /// - Throws: ``OutdatedDialect`` when the record is of another version by now, ``AwaitingConfirmation``.
    func checkUse(of record: ActivationRecord, isConfirming: Bool) throws

    func hasBiometryFactor(_ record: ActivationRecord) -> Bool
    func addBiometryFactor(to activation: Activation, key: SecretBytes, password: SecretBytes) async throws
    func removeBiometryFactor(from activation: Activation) async throws
    func changePassword(of activation: Activation, from old: SecretBytes, to new: SecretBytes) async throws
    func changePasswordUnchecked(of activation: Activation, from old: SecretBytes, to new: SecretBytes) async throws

    // MARK: Signing

    /// Returns the header that proves who sent a request.
    func signatureHeader(
        of request: SignedRequest,
        body: [UInt8],
        nonce: [UInt8],
        counter: SigningCounter
    ) throws -> (name: String, value: String)

    /// Returns the digits of an offline signature.
    func offlineSignature(
        _ data: SignatureData,
        keys: SigningKeys,
        counter: SigningCounter,
        componentLength: Int
    ) throws -> String

    /// Returns the header that carries a token.
    func tokenHeader(
        _ token: ActivationRecord.Token,
        nonce: [UInt8],
        timestamp: Int64
    ) throws -> (name: String, value: String)

    /// Returns whether the server signed `data`.
    func isSignedByServer(
        _ data: [UInt8],
        signature: [UInt8],
        key: ServerSigningKey,
        format: ServerSignatureFormat
    ) -> Bool

    // MARK: Calls that every version has

    /// Returns the request that asks whether a code is right.
    func validation(for reason: ValidationReason) throws(MobileTokenError) -> EndpointRequest
    /// Reads the response to ``ServerEndpoint/tokenCreate``.
    func token(in response: [UInt8], of path: String) throws -> ActivationRecord.Token
    /// Asks the server for the activation's status. Signs nothing.
    func status() async throws -> StatusReport

    // MARK: The vault and the device's keys

    /// Returns the device's public key for ECDSA, compressed.
    func devicePublicKey(of record: ActivationRecord) throws -> [UInt8]

    /// Derives a key for the application's own data.
    func dataKey(
        of activation: Activation,
        index: UInt64,
        with authentication: Authentication,
        reason: VaultUnlockReason
    ) async throws -> SecretBytes

    /// Derives a key for the application's own data from a base of its choice.
    func applicationKey(
        of activation: Activation,
        base: ApplicationKeyBase,
        index: UInt64,
        byteCount: Int,
        with authentication: Authentication,
        reason: VaultUnlockReason
    ) async throws -> SecretBytes

    /// Opens the vault and lends the device's private keys to `use`, which runs to its end even when the caller is canceled by
    /// then.
    func withDevicePrivateKeys<Result: Sendable>(
        of activation: Activation,
        with authentication: Authentication,
        reason: VaultUnlockReason,
        _ use: @escaping @Sendable (DevicePrivateKeys) throws -> Result
    ) async throws -> Result

    /// Confirms a recovery code, and returns whether it was confirmed already.
    func confirmRecoveryCode(
        _ code: String,
        of activation: Activation,
        with authentication: Authentication
    ) async throws -> Bool
}

extension ActivationDialect {
    func encryption(in scope: EncryptionScope) -> any RequestEncryption {
        switch scope {
        case .application: self.applicationEncryption
        case .activation: self.encryption
        }
    }
}

/// Why a signature is made that serves nothing else.
enum ValidationReason: String {
    case password = "VALIDATE_PASSWORD"
    case counterSynchronization = "COUNTER_SYNCHRONIZATION"
    case newPassword = "CONFIRM_NEW_PASSWORD"
    case newBiometry = "CONFIRM_BIOMETRY_ADD"
}
