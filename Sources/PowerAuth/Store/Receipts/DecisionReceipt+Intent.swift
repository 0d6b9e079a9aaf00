import Basics
import Foundation
import PowerAuthCrypto

extension DecisionReceipt {
    /// A ``DecisionIntent`` as a receipt keeps it: facts that stay, and personal data that can be erased.
    ///
    /// ``personalDataDigest`` is a salted hash. As long as the personal data are there they can be compared with it; once they
    /// are erased with their salt, it tells nothing about them.
    @dynamicMemberLookup
    public struct Intent: Sendable, Hashable {
        /// The number of the counter's move that the signature used up.
        public let moves: UInt64
        /// The facts, each of which can be read from the intent itself, such as `receipt.intent.verdict`.
        public let facts: DecisionIntent.Facts
        /// SHA-256 of the personal data and their salt in the form that an exported line has them.
        public let personalDataDigest: [UInt8]
        /// The personal data with their salt; `nil` once they were erased.
        package private(set) var saltedData: SaltedPersonalData?

        /// Records an intent, with a new salt.
        ///
        /// - Parameter moves: The number of the counter's move that goes with it.
        package init(_ intent: DecisionIntent, moves: UInt64) {
            var facts = intent.facts
            facts.localDate = facts.localDate.inWholeMilliseconds
            facts.serverDate = facts.serverDate?.inWholeMilliseconds
            facts.arrivesBefore = facts.arrivesBefore?.inWholeMilliseconds
            let saltedData = SaltedPersonalData(salt: SecureRandom.bytes(16), content: intent.personalData)
            self.init(moves: moves, facts: facts, personalDataDigest: saltedData.digest, saltedData: saltedData)
        }

        init(
            moves: UInt64,
            facts: DecisionIntent.Facts,
            personalDataDigest: [UInt8],
            saltedData: SaltedPersonalData?
        ) {
            self.moves = moves
            self.facts = facts
            self.personalDataDigest = personalDataDigest
            self.saltedData = saltedData
        }

        /// Returns one of the facts.
        public subscript<Value>(dynamicMember member: KeyPath<DecisionIntent.Facts, Value>) -> Value {
            self.facts[keyPath: member]
        }

        /// The personal data; `nil` once they were erased.
        public var personalData: DecisionIntent.PersonalData? { self.saltedData?.content }

        /// The same without its personal data.
        public var erased: Self {
            var erased = self
            erased.saltedData = nil
            return erased
        }

        /// The intent again; `nil` once the personal data were erased.
        public var decision: DecisionIntent? {
            self.personalData.map { DecisionIntent(facts: self.facts, personalData: $0) }
        }
    }
}

/// Personal data of a receipt with the salt of their digest.
package struct SaltedPersonalData: Sendable, Hashable {
    /// 16 random bytes, without which the digest could be found again by trying what the data may have been.
    package let salt: [UInt8]
    package let content: DecisionIntent.PersonalData

    package init(salt: [UInt8], content: DecisionIntent.PersonalData) {
        self.salt = salt
        self.content = content
    }
}

extension Date {
    /// The nearest date that a receipt can name.
    var inWholeMilliseconds: Date {
        Date(timeIntervalSince1970: (self.timeIntervalSince1970 * 1_000).rounded() / 1_000)
    }
}
