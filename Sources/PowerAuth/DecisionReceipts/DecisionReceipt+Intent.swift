package import Foundation
import PowerAuthCrypto

extension DecisionReceipt {
    /// A ``DecisionIntent`` in a receipt: permanent facts, and personal data that can be erased.
    ///
    /// ``personalDataDigest`` is a salted hash. It verifies the personal data until they are erased with their salt, and reveals
    /// nothing about them afterwards.
    @dynamicMemberLookup
    public struct Intent: Sendable, Hashable {
        /// The number of the counter move that the signature consumed.
        public let moves: UInt64
        /// The permanent facts. The intent also offers their members directly, such as `receipt.intent.verdict`.
        public let facts: DecisionIntent.Facts
        /// SHA-256 of the personal data and their salt, in the form of an exported line.
        public let personalDataDigest: [UInt8]
        /// The personal data with their salt; `nil` after erasure.
        package private(set) var saltedData: SaltedPersonalData?

        /// Returns a member of `facts`.
        @inlinable
        public subscript<Value>(dynamicMember member: KeyPath<DecisionIntent.Facts, Value>) -> Value {
            self.facts[keyPath: member]
        }

        /// The personal data; `nil` after erasure.
        public var personalData: DecisionIntent.PersonalData? { self.saltedData?.content }

        /// Returns the intent without its personal data.
        public var erased: Self {
            var erased = self
            erased.saltedData = nil
            return erased
        }

        /// The decision's intent; `nil` after erasure of the personal data.
        public var decision: DecisionIntent? {
            self.personalData.map { DecisionIntent(facts: self.facts, personalData: $0) }
        }
    }
}

extension DecisionReceipt.Intent {
    /// Creates a receipt's intent with a new salt.
    ///
    /// - Parameter moves: The number of the counter move.
    package init(_ intent: DecisionIntent, moves: UInt64) {
        var facts = intent.facts
        facts.localDate = facts.localDate.inWholeMilliseconds
        facts.serverDate = facts.serverDate?.inWholeMilliseconds
        facts.arrivesBefore = facts.arrivesBefore?.inWholeMilliseconds
        let saltedData = SaltedPersonalData(salt: SecureRandom.bytes(16), content: intent.personalData)
        self.init(moves: moves, facts: facts, personalDataDigest: saltedData.digest, saltedData: saltedData)
    }
}

/// The personal data of a receipt, with the salt of their digest.
package struct SaltedPersonalData: Sendable, Hashable {
    /// 16 random bytes, so that the personal data cannot be guessed from the digest.
    package let salt: [UInt8]
    package let content: DecisionIntent.PersonalData
}

extension Date {
    /// The date, rounded to a receipt's precision.
    package var inWholeMilliseconds: Date {
        Date(timeIntervalSince1970: (self.timeIntervalSince1970 * 1_000).rounded() / 1_000)
    }
}
