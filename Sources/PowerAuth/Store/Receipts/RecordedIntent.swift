import Basics
public import Foundation
import PowerAuthCrypto
import PowerAuthProtocol

/// A ``DecisionIntent`` as a receipt keeps it: facts that stay, and personal data that can be erased.
///
/// The facts hold ``personalDataDigest``, a salted hash. As long as the personal data are there they can be compared with it;
/// once they are erased with their salt, it tells nothing about them.
public struct RecordedIntent: Sendable, Hashable {
    /// The data of the person whose operation it was.
    public struct PersonalData: Sendable, Hashable {
        /// 16 random bytes, without which the digest could be found again by trying what the data may have been.
        public let salt: [UInt8]
        /// The operation's identifier.
        public let operationID: String
        /// The operation's data, which are what was signed.
        public let signed: String
        /// The operation's JSON as the server sent it, which is what was shown; `nil` when it was not at hand.
        public let shown: String?
        /// Why the operation was rejected.
        public let reason: String?
    }

    /// The activation that signed.
    public let activationID: String
    /// The number of the counter's move that the signature used up.
    public let moves: UInt64
    /// Which attempt at the operation it was, from 1.
    public let attempt: Int
    /// Which way it was decided.
    public let verdict: DecisionIntent.Verdict
    /// The rule that decided; `nil` for a call by hand.
    public let policy: DecisionIntent.Policy?
    /// Indicates that everything about the operation could be read; `nil` when nobody looked.
    public let isComplete: Bool?
    /// The factors that signed, as the protocol names them: `possession`, `possession_knowledge`.
    public let factors: String
    /// The number of the membership under which the process decided, where there was one.
    public let fence: UInt64?
    /// When it was decided, by the local clock, in whole milliseconds.
    public let localDate: Date
    /// When it was decided, by the server's clock, where that was known, in whole milliseconds.
    public let serverDate: Date?
    /// The moment from which on the request could not reach the server any more, by the local clock, where that is known.
    public let arrivesBefore: Date?
    /// SHA-256 of ``personalData`` in the form that an exported line has it.
    public let personalDataDigest: [UInt8]
    /// The personal data; `nil` once they were erased.
    public private(set) var personalData: PersonalData?

    /// Takes an intent apart, with a new salt.
    ///
    /// - Parameter moves: The number of the counter's move that goes with it.
    public init(_ intent: DecisionIntent, moves: UInt64) {
        let personalData = PersonalData(
            salt: SecureRandom.bytes(16),
            operationID: intent.operationID,
            signed: intent.signed,
            shown: intent.shown.map { String(decoding: $0, as: UTF8.self) },
            reason: intent.reason
        )
        self.init(
            activationID: intent.activationID,
            moves: moves,
            attempt: intent.attempt,
            verdict: intent.verdict,
            policy: intent.policy,
            isComplete: intent.isComplete,
            factors: intent.factors.rawValue,
            fence: intent.fence,
            localDate: intent.localDate.inWholeMilliseconds,
            serverDate: intent.serverDate?.inWholeMilliseconds,
            arrivesBefore: intent.arrivesBefore?.inWholeMilliseconds,
            personalDataDigest: personalData.digest,
            personalData: personalData
        )
    }

    init(
        activationID: String,
        moves: UInt64,
        attempt: Int,
        verdict: DecisionIntent.Verdict,
        policy: DecisionIntent.Policy?,
        isComplete: Bool?,
        factors: String,
        fence: UInt64?,
        localDate: Date,
        serverDate: Date?,
        arrivesBefore: Date? = nil,
        personalDataDigest: [UInt8],
        personalData: PersonalData?
    ) {
        self.activationID = activationID
        self.moves = moves
        self.attempt = attempt
        self.verdict = verdict
        self.policy = policy
        self.isComplete = isComplete
        self.factors = factors
        self.fence = fence
        self.localDate = localDate
        self.serverDate = serverDate
        self.arrivesBefore = arrivesBefore
        self.personalDataDigest = personalDataDigest
        self.personalData = personalData
    }

    /// The same without its personal data.
    public var erased: Self {
        var erased = self
        erased.personalData = nil
        return erased
    }

    /// Indicates that a policy decided, and not a call by hand.
    public var isAutomatic: Bool { self.policy != nil }

    /// The intent again; `nil` once the personal data were erased.
    public var intent: DecisionIntent? {
        guard let personalData, let factors = SignatureType(rawValue: self.factors) else { return nil }
        return DecisionIntent(
            activationID: self.activationID,
            operationID: personalData.operationID,
            attempt: self.attempt,
            verdict: self.verdict,
            reason: personalData.reason,
            policy: self.policy,
            isComplete: self.isComplete,
            factors: factors,
            fence: self.fence,
            shown: personalData.shown.map { Array($0.utf8) },
            signed: personalData.signed,
            localDate: self.localDate,
            serverDate: self.serverDate,
            arrivesBefore: self.arrivesBefore
        )
    }
}

extension Date {
    /// The nearest date that a receipt can name.
    var inWholeMilliseconds: Date {
        Date(timeIntervalSince1970: (self.timeIntervalSince1970 * 1_000).rounded() / 1_000)
    }
}
