import Basics
import ExactJSON
public import Foundation
import PowerAuthCrypto

/// A signature of all earlier lines, made with an activation's device key.
public struct ReceiptSignature: Sendable, Hashable {
    /// The activation of the key.
    public let activationID: String
    /// The device's public ECDSA key, compressed: on P-256, or on P-384 for version 4. Compare it with an independently known
    /// one, because anyone can create a key.
    public let devicePublicKey: [UInt8]
    /// The time of the signature, by the local clock.
    public let localDate: Date
    /// ECDSA with SHA-256, or SHA-384 on P-384, in DER.
    public let signature: [UInt8]

    /// Returns the signed message: a fixed prefix, and the previous line's digest in hexadecimal digits.
    static func message(head: [UInt8]) -> [UInt8] {
        Array("mobile-token receipts 1\n\(Hexadecimal.encode(head))".utf8)
    }

    /// Returns whether the named key signed the previous line's digest.
    func isValid(head: [UInt8]) -> Bool {
        let message = Self.message(head: head)
        if let key = try? P256PublicKey(x963: self.devicePublicKey) {
            return key.isValid(derSignature: self.signature, for: message)
        }
        let key = try? P384PublicKey(x963: self.devicePublicKey)
        return key?.isValid(derSignature: self.signature, for: message) ?? false
    }
}

extension ReceiptSignature {
    var facts: JSONObject {
        [
            "activation": .string(self.activationID),
            "devicePublicKey": .string(Hexadecimal.encode(self.devicePublicKey)),
            "localTime": .string(ISO8601.preciseString(from: self.localDate)),
            "signature": .string(Base64.encode(self.signature)),
        ]
    }

    init(facts: JSONObject) throws(ReceiptFormatError) {
        guard let signature = Base64.decode(try facts.string("signature")) else {
            throw ReceiptFormatError(member: "signature")
        }
        self.init(
            activationID: try facts.string("activation"),
            devicePublicKey: try facts.bytes("devicePublicKey", count: 33, 49),
            localDate: try facts.date("localTime"),
            signature: signature
        )
    }
}
