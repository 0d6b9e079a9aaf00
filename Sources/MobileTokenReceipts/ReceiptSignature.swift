import Basics
import ExactJSON
public import Foundation
import PowerAuth
import PowerAuthCrypto

/// A signature of everything before it, made with the device's key of an activation.
public struct ReceiptSignature: Sendable, Hashable {
    /// The activation whose key signed.
    public let activationID: String
    /// The device's public key for ECDSA, compressed: on P-256, or on P-384 for an activation of version 4. Compare it with one that is known from elsewhere: any party can make a key.
    public let devicePublicKey: [UInt8]
    /// The time when it was made, by the local clock.
    public let localDate: Date
    /// ECDSA over SHA-256 or, on P-384, SHA-384. DER.
    public let signature: [UInt8]

    /// Returns what is signed: fixed words, and the digest of the line before in hexadecimal digits.
    static func message(head: [UInt8]) -> [UInt8] {
        Array("mobile-token receipts 1\n\(Hexadecimal.encode(head))".utf8)
    }

    /// Returns whether the key that the signature names made it for the digest of the line before.
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
