import Foundation
import MobileTokenTesting
import PowerAuthCrypto
import Testing

@Suite struct Base64Tests {
    @Test(arguments: 0...100) func agreesWithFoundation(count: Int) {
        var generator = SeededGenerator()
        let bytes = generator.bytes(count)
        let text = Data(bytes).base64EncodedString()
        #expect(Base64.encode(bytes) == text, "\(generator)")
        #expect(Base64.encode(SecretBytes(copying: bytes)) == text, "\(generator)")
        #expect(Base64.decode(text) == bytes, "\(generator)")
        #expect(Base64.decodeSecret(text) == SecretBytes(copying: bytes), "\(generator)")
        var appended: [UInt8] = [1]
        Base64.append(bytes, to: &appended)
        #expect(appended == [1] + text.utf8, "\(generator)")
        let url = text.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        #expect(Base64URL.encode(bytes) == url, "\(generator)")
        #expect(Base64URL.decode(url) == bytes, "\(generator)")
    }

    /// One string for given bytes: otherwise two strings that are signed differently would mean the same.
    @Test(arguments: [
        "A", "AA", "AAA", "AA=", "AAA==", "A===", "====", "=", "AAAA=", "AAAA====", "AA==AAAA", "AA=A", "AB==", "AAB=",
        "AA==\n", "AAA\n", "AAAA\n\n\n\n", "    AAAA", "\tAA=", "AA =", "AAAA    ", " AAAA", "AA AA", "AAAÁ", "AA-_",
        "AAAA\0", "ＡＡＡＡ",
    ])
    func otherSpellingsAreRefused(text: String) {
        #expect(Base64.decode(text) == nil)
        #expect(Base64.decodeSecret(text) == nil)
    }

    @Test func spareBitsAreZero() {
        let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        for (value, digit) in digits.enumerated() {
            #expect(Base64.decode("A\(digit)==")?.count == (value.isMultiple(of: 16) ? 1 : nil), "A\(digit)==")
            #expect(Base64.decode("AA\(digit)=")?.count == (value.isMultiple(of: 4) ? 2 : nil), "AA\(digit)=")
        }
    }

    @Test(arguments: ["A", "AA==", "AB", "AAB", "AA+/", "AA A", "AAAAA", "AA\n"])
    func otherSpellingsAreRefusedInTokens(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }
}
