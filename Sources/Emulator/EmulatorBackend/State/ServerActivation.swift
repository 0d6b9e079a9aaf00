import Basics
package import MobileTokenCloud
import PowerAuthCrypto
package import PowerAuthProtocol

/// An activation on the server, from its code to its end.
///
/// ```
/// CREATED ── keys exchanged ──▶ PENDING_COMMIT ── commit ──▶ ACTIVE ◀── block, unblock ──▶ BLOCKED
///    └────────────── expired or removed, from every state ──────────────▶ REMOVED
/// ```
package struct ServerActivation: Sendable, Codable, Identifiable {
    package typealias Status = CloudRegistrationStatus
    typealias CommitPhase = CloudClient.NewRegistration.CommitPhase

    /// The code for a device's activation.
    package struct Offer: Sendable, Codable, Equatable {
        let code: String
        /// The master key's signature of the code, DER in Base64.
        let signature: String
        let expires: Milliseconds

        /// The content of the QR code for a device.
        package var qrCode: String { "\(self.code)#\(self.signature)" }
    }

    package let id: String
    package let userID: String
    package let applicationID: String
    package let created: Milliseconds
    package let maximumFailedAttempts: Int
    /// The offer; `nil` for activations that began without a code.
    package let offer: Offer?
    /// The chosen commit phase; `nil` by default.
    let commitPhase: CommitPhase?
    var flags: [String]
    package private(set) var status: Status
    package private(set) var failedAttempts = 0
    private(set) var blockedReason: String?
    /// The end of a temporary block; `nil` if only an administrator ends it.
    package private(set) var blockExpires: Milliseconds?
    /// The number of consecutive temporary blocks for failed authentications; `nil` for none.
    private var temporaryBlocks: Int?
    private(set) var otp: ActivationOTP?
    /// The device's keys; `nil` before the key exchange.
    private(set) var device: DeviceBinding?
    private(set) var externalUserID: String?
    package private(set) var name: String?
    private(set) var platform: String?
    private(set) var deviceInfo: String?
    private(set) var extras: String?
    /// `true` if it was removed because nobody used or committed it in time; `nil` of any other.
    package private(set) var hasExpired: Bool?
    /// The last use of its keys, successful or not; `nil` for never.
    private var used: Milliseconds?

    init(
        id: String,
        userID: String,
        applicationID: String,
        flags: [String] = [],
        offer: Offer?,
        otp: ActivationOTP? = nil,
        commitPhase: CommitPhase? = nil,
        maximumFailedAttempts: Int,
        created: Milliseconds
    ) {
        self.id = id
        self.userID = userID
        self.applicationID = applicationID
        self.flags = flags
        self.offer = offer
        self.otp = otp
        self.commitPhase = commitPhase
        self.maximumFailedAttempts = maximumFailedAttempts
        self.created = created
        self.status = .created
    }

    // MARK: - Beginning

    /// The device's description of itself.
    struct Description {
        var name: String?
        var platform: String?
        var deviceInfo: String?
        var extras: String?
        var otp: String?
    }

    /// Returns whether the activation OTP is valid, if it is required at this stage.
    func acceptsOTP(_ value: String?, at stage: ActivationOTP.Stage) -> Bool {
        guard let otp = self.otp, otp.stage == stage else { return true }
        return value.map { constantTimeEquals(Array($0.utf8), Array(otp.value.utf8)) } ?? false
    }

    /// Returns whether the activation is active after the key exchange: if an activation OTP was checked by then, nothing is left
    /// to confirm. Real servers also do this if a device sends an unknown OTP.
    func commits(atKeyExchangeWith otp: String?) -> Bool {
        if self.otp == nil, otp?.isEmpty == false { return true }
        return self.commitPhase.map { $0 == .onKeyExchange } ?? (self.otp?.stage == .keyExchange)
    }

    /// Counts a wrong activation OTP; the last one removes the activation.
    mutating func countWrongOTP() {
        self.failedAttempts = self.failedAttempts.addingSaturated(1)
        if self.failedAttempts >= self.maximumFailedAttempts { self.remove() }
    }

    /// Binds the device's keys after the key exchange.
    ///
    /// - Parameter commits: `true` if the server need not confirm the activation, which is then active at once.
    mutating func bind(_ device: DeviceBinding, _ description: Description, commits: Bool) {
        self.device = device
        self.name = description.name
        self.platform = description.platform
        self.deviceInfo = description.deviceInfo
        self.extras = description.extras
        self.failedAttempts = 0
        self.status = commits ? .active : .pendingCommit
    }

    /// Activates it after the server's verification of the user.
    package mutating func commit(externalUserID: String?, otp: String?) throws(Refusal) {
        guard self.status == .pendingCommit else { throw self.wrongState }
        guard self.acceptsOTP(otp, at: .commit) else {
            if otp?.isEmpty == false { self.countWrongOTP() }
            throw .activationState("the activation OTP is missing or wrong")
        }
        self.status = .active
        self.failedAttempts = 0
        self.externalUserID = externalUserID ?? self.externalUserID
    }

    /// The time of its next automatic change: expiry of the wait for its device or for the commit, or the end of its block.
    var deadline: Milliseconds? {
        switch self.status {
        case .created, .pendingCommit: self.offer?.expires
        case .blocked: self.blockExpires
        case .active, .removed: nil
        }
    }

    /// The eight digits that the device also shows. `nil` before the key exchange.
    package var fingerprint: String? {
        self.device?.keys.fingerprint(activationID: self.id)
    }

    /// The protocol version, such as `3.3`. `nil` before the key exchange.
    package var protocolVersion: String? { self.device?.keys.versionName }

    /// The suite of a version 4 activation, or of a pending upgrade.
    package var suite: AlgorithmSuite? { self.device?.version4?.suite }

    /// The number of counter steps.
    package var steps: UInt64 { self.device?.keys.steps ?? 0 }

    mutating func rename(_ name: String) { self.name = name }

    // MARK: - Keys of version 4

    mutating func updateVersion4Keys(_ change: (inout Version4.Keys) -> Void) { self.device?.updateVersion4(change) }

    mutating func beginUpgrade(to keys: Version4.Keys) { self.device?.beginUpgrade(to: keys) }

    mutating func finishUpgrade() { self.device?.finishUpgrade() }

    // MARK: - Authentication

    /// Verifies a code, and moves the counter past a valid one.
    mutating func verify(_ code: CodeToVerify, of version: MajorVersion, lookAhead: Int) -> CodeVerdict {
        let verdict = self.device?.verify(code, of: version, lookAhead: lookAhead) ?? .notJudged("there are no keys")
        // Possession alone proves nothing about the user.
        if case .accepted = verdict, code.type != .possession {
            self.failedAttempts = 0
            self.temporaryBlocks = nil
        }
        return verdict
    }

    /// Returns the reason why a code is invalid; `nil` without keys of its version.
    func diagnosis(of code: CodeToVerify, _ version: MajorVersion, lookAhead: Int) -> CodeDiagnosis? {
        self.device?.keys(of: version)?.diagnosis(of: code, lookAhead: lookAhead)
    }

    /// Counts an invalid code, except possession's; the last allowed one blocks, in any state.
    ///
    /// In version 4, the block can be temporary.
    mutating func fail(_ type: SignatureType, _ limits: EmulatorLimits, at now: Milliseconds) {
        guard type != .possession else { return }
        self.noteUse(at: now)
        self.failedAttempts = self.failedAttempts.addingSaturated(1)
        guard self.failedAttempts >= self.maximumFailedAttempts else { return }
        self.status = .blocked
        self.blockedReason = Self.tooManyFailures
        let number = (self.temporaryBlocks ?? 0).addingSaturated(1)
        guard self.device?.version == .version4, let length = limits.lengthOfTemporaryBlock(number) else { return }
        self.temporaryBlocks = number
        self.blockExpires = now + length
    }

    private static var tooManyFailures: String { "MAX_FAILED_ATTEMPTS" }

    var remainingAttempts: Int {
        self.status == .active ? max(0, self.maximumFailedAttempts.subtractingSaturated(self.failedAttempts)) : 0
    }

    /// The last use of its keys, or its creation.
    var lastUsed: Milliseconds { self.used ?? self.created }

    mutating func noteUse(at now: Milliseconds) { self.used = now }

    // MARK: - Administration

    /// Blocks the activation.
    ///
    /// - Parameter expiration: The end of the block, in version 4; `nil` for never.
    package mutating func block(reason: String, until expiration: Milliseconds? = nil) throws(Refusal) {
        guard self.status == .active || self.status == .blocked else { throw self.wrongState }
        guard expiration == nil || self.device?.version == .version4 else {
            throw .activationState("only an activation of version 4 can be blocked for a time")
        }
        if self.status == .active { self.blockedReason = reason }
        self.status = .blocked
        self.blockExpires = expiration
    }

    /// Ends a temporary block. After a block for failed authentications, one attempt is left.
    mutating func endTemporaryBlock() throws(Refusal) {
        let (failures, blocks) = (self.failedAttempts, self.temporaryBlocks)
        let wasOfFailures = self.blockedReason == Self.tooManyFailures
        try self.unblock()
        guard wasOfFailures else { return }
        self.failedAttempts = max(0, failures - 1)
        self.temporaryBlocks = blocks
    }

    /// Unblocks the activation, whatever its state before the block. An active one is unchanged, with its failed attempts.
    package mutating func unblock() throws(Refusal) {
        guard self.status != .active else { return }
        guard self.status == .blocked else { throw self.wrongState }
        self.status = .active
        self.blockedReason = nil
        self.blockExpires = nil
        self.temporaryBlocks = nil
        self.failedAttempts = 0
    }

    package mutating func remove() {
        self.status = .removed
    }

    mutating func expire() {
        self.remove()
        self.hasExpired = true
    }

    package mutating func advanceCounter(by steps: Int) throws(Refusal) {
        guard self.device != nil, self.status != .removed else { throw self.wrongState }
        self.device?.advance(by: steps)
    }

    private var wrongState: Refusal { .activationState("the activation is \(self.status.rawValue)") }
}

/// A one-time password that an activation requires besides its code.
struct ActivationOTP: Sendable, Codable, Equatable {
    enum Stage: String, Sendable, Codable {
        case keyExchange, commit
    }

    let value: String
    let stage: Stage
}

extension Refusal {
    /// A change that the activation's state forbids.
    fileprivate static func activationState(_ reason: String) -> Self {
        .invalidState("The change is not possible: \(reason)", because: reason)
    }
}

extension ServerActivation.Status {
    /// The state in a status blob.
    var state: ActivationState {
        switch self {
        case .created: .created
        case .pendingCommit: .pendingCommit
        case .active: .active
        case .blocked: .blocked
        case .removed: .removed
        }
    }
}
