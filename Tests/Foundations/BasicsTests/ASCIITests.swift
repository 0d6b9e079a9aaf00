import Basics
import Testing

/// Each of 256 bytes, beside what the standard library says of the character.
@Suite struct ASCIITests {
    private let bytes = Array(UInt8.min...UInt8.max)

    private func bytes(in characters: String) -> Set<UInt8> { Set(characters.utf8) }

    @Test func digitsAndLettersAreThoseOfASCII() {
        for byte in self.bytes {
            let character = Character(Unicode.Scalar(byte))
            let isASCII = byte < 0x80
            #expect(byte.isASCIIDigit == (isASCII && character.isNumber))
            #expect(byte.isASCIILetter == (isASCII && character.isLetter))
            #expect(byte.isASCIICapital == (isASCII && character.isUppercase))
            #expect(byte.isASCIILetterOrDigit == (byte.isASCIILetter || byte.isASCIIDigit))
            #expect(byte.hexadecimalValue.map(Int.init) == (isASCII ? character.hexDigitValue : nil))
            #expect(byte.asciiLowercased == (isASCII ? character.lowercased().utf8.first : byte))
        }
    }

    @Test func headerFieldsHoldWhatRFC9110Allows() {
        let marks = self.bytes(in: "!#$%&'*+-.^_`|~")
        for byte in self.bytes {
            #expect(byte.isHTTPNameCharacter == (marks.contains(byte) || byte.isASCIILetterOrDigit))
            #expect(byte.isHTTPValueCharacter == (byte == 0x09 || (byte >= 0x20 && byte != 0x7F)))
        }
    }

    @Test(arguments: [("0", 0), ("007", 7), ("9223372036854775807", Int.max)])
    func digitsAreANumber(digits: String, number: Int) {
        #expect(Int(asciiDigits: digits.utf8) == number)
    }

    @Test(arguments: ["", "+1", "-1", " 1", "1 ", "1a", "٣", "1\u{301}", "9223372036854775808"])
    func anythingElseIsNone(digits: String) {
        #expect(Int(asciiDigits: digits.utf8) == nil)
    }

    @Test func onlyTheCaseOfASCIILettersIsIgnored() {
        #expect("X-PowerAuth".equalsIgnoringASCIICase("x-pOWERaUTH"))
        #expect("".equalsIgnoringASCIICase(""))
        for (one, other) in [("k", "\u{212A}"), ("é", "É"), ("[", "{"), ("@", "`"), ("a", "ab"), ("é", "e\u{301}")] {
            #expect(!one.equalsIgnoringASCIICase(other))
            #expect(!other.equalsIgnoringASCIICase(one))
        }
    }

    @Test func bothEndsAreTrimmed() {
        let isZero: (Int) -> Bool = { $0 == 0 }
        #expect([0, 0, 1, 0, 2, 0].trimming(while: isZero) == [1, 0, 2])
        #expect([1, 2].trimming(while: isZero) == [1, 2])
        #expect([0, 0].trimming(while: isZero).isEmpty)
        #expect([].trimming(while: isZero).isEmpty)
    }
}
