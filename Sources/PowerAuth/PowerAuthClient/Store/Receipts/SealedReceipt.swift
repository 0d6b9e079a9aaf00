package import DecisionReceipts
package import Foundation
import ExactJSON
import PowerAuthCrypto

/// A stored receipt entry. A store returns it unchanged, and sets ``personalData`` to `nil` to erase them.
package struct SealedReceipt: Sendable, Equatable {
    package let activationID: String
    /// The number of the counter move that the signature consumed.
    package let moves: UInt64
    /// When the decision was made or its outcome was known, by the local clock.
    package let date: Date
    package let body: [UInt8]
    /// The sealed personal data of an intent; `nil` after erasure, and for an outcome.
    package let personalData: [UInt8]?
    /// The charges of an intent to limits, in their stored form; `nil` if there are none, and of an entry that a database
    /// has read.
    package let charges: String?

    package init(
        activationID: String,
        moves: UInt64,
        date: Date,
        body: [UInt8],
        personalData: [UInt8]?,
        charges: String? = nil
    ) {
        self.activationID = activationID
        self.moves = moves
        self.date = date
        self.body = body
        self.personalData = personalData
        self.charges = charges
    }
}

extension ReceiptSelection {
    /// Returns whether the receipt is selected and has personal data.
    func selects(_ intent: SealedReceipt) -> Bool {
        intent.personalData != nil && self.selects(intent.activationID, intent.date)
    }
}

extension Sealing {
    /// Seals an intent for the transaction with this move.
    package func seal(_ intent: DecisionIntent, ofMove moves: UInt64) throws -> SealedReceipt {
        let recorded = DecisionReceipt.Intent(intent, moves: moves)
        let cipher = self.cipher(of: recorded.activationID)
        return SealedReceipt(
            activationID: recorded.activationID,
            moves: moves,
            date: recorded.localDate,
            body: try cipher.seal(recorded.json, as: .intent(moves)),
            personalData: try recorded.saltedData.map { try cipher.seal($0.json, as: .personalData(moves)) },
            charges: intent.charges?.stored
        )
    }

    package func seal(
        _ outcome: DecisionOutcome,
        ofMove moves: UInt64,
        of activationID: String
    ) throws -> SealedReceipt {
        SealedReceipt(
            activationID: activationID,
            moves: moves,
            date: outcome.localDate.inWholeMilliseconds,
            body: try self.cipher(of: activationID).seal(outcome.facts, as: .outcome(moves)),
            personalData: nil
        )
    }

    /// Decrypts an intent.
    ///
    /// - Throws: `storeCorrupted` if it fails authentication or is an outcome.
    package func openIntent(_ sealed: SealedReceipt) throws -> DecisionReceipt.Intent {
        let cipher = self.cipher(of: sealed.activationID)
        let saltedData = try sealed.personalData.map { bytes in
            try Self.reading(.personalData(sealed.moves)) { name throws in
                try SaltedPersonalData(cipher.open(bytes, as: name))
            }
        }
        return try Self.reading(.intent(sealed.moves)) { name throws in
            try DecisionReceipt.Intent(cipher.open(sealed.body, as: name), saltedData: saltedData)
        }
    }

    /// Decrypts an outcome.
    ///
    /// - Throws: `storeCorrupted` if it fails authentication or is an intent.
    package func openOutcome(_ sealed: SealedReceipt) throws -> DecisionOutcome {
        let cipher = self.cipher(of: sealed.activationID)
        return try Self.reading(.outcome(sealed.moves)) { name throws in
            try DecisionOutcome(facts: cipher.open(sealed.body, as: name))
        }
    }

    /// Reseals an entry with another key.
    ///
    /// - Parameter isIntent: `true` for an intent, `false` for an outcome.
    package func reseal(_ sealed: SealedReceipt, isIntent: Bool, with other: Self) throws -> SealedReceipt {
        let cipher = self.cipher(of: sealed.activationID)
        let otherCipher = other.cipher(of: sealed.activationID)
        func resealed(_ bytes: [UInt8], _ name: ReceiptFieldName) throws -> [UInt8] {
            let field = SealedActivation.Field(name: name.string, isSealed: true, bytes: bytes)
            return try otherCipher.seal(cipher.open(field), name: name.string).bytes
        }
        return SealedReceipt(
            activationID: sealed.activationID,
            moves: sealed.moves,
            date: sealed.date,
            body: try resealed(sealed.body, isIntent ? .intent(sealed.moves) : .outcome(sealed.moves)),
            personalData: try sealed.personalData.map { try resealed($0, .personalData(sealed.moves)) }
        )
    }

    /// Correctly sealed content may have a form that this version does not know.
    private static func reading<Value>(
        _ name: ReceiptFieldName,
        _ body: (ReceiptFieldName) throws -> Value
    ) throws -> Value {
        do {
            return try body(name)
        } catch is ReceiptFormatError {
            throw MobileTokenError.damaged(name.string)
        } catch is JSONError {
            throw MobileTokenError.damaged(name.string)
        }
    }
}

/// The name that a sealed part of a receipt is bound to, beside its activation.
private enum ReceiptFieldName {
    case intent(UInt64)
    case personalData(UInt64)
    case outcome(UInt64)

    var string: String {
        switch self {
        case .intent(let moves): "receipt-intent:\(moves)"
        case .personalData(let moves): "receipt-personal-data:\(moves)"
        case .outcome(let moves): "receipt-outcome:\(moves)"
        }
    }
}

extension Sealing.FieldCipher {
    fileprivate func seal(_ json: JSONObject, as name: ReceiptFieldName) throws -> [UInt8] {
        try self.seal(SecretBytes(copying: JSONValue.object(json).serialized()), name: name.string).bytes
    }

    fileprivate func open(_ bytes: [UInt8], as name: ReceiptFieldName) throws -> JSONObject {
        let plaintext = try self.open(SealedActivation.Field(name: name.string, isSealed: true, bytes: bytes))
        return try plaintext.withUnsafeBytes { try JSONValue(parsing: Array($0)).object } ?? JSONObject()
    }
}
