import PowerAuthCrypto
import Synchronization
import Testing

@Suite struct SecretBytesTests {
    private let secret = SecretBytes(copying: [0xDE, 0xAD, 0xBE, 0xEF])

    @Test func nothingPrintsTheBytes() {
        var dumped = ""
        dump(self.secret, to: &dumped)
        let holder = (self.secret, [self.secret], Optional(self.secret))
        for text in ["\(self.secret)", String(reflecting: self.secret), "\(holder)", dumped] {
            #expect(text.contains("<4 secret bytes>"))
            for trace in ["222", "173", "190", "239", "DE", "de", "AD", "ad"] { #expect(!text.contains(trace)) }
        }
        #expect(Mirror(reflecting: self.secret).children.isEmpty)
    }

    @Test func theyAreEqualByContent() {
        #expect(self.secret == SecretBytes(copying: [0xDE, 0xAD, 0xBE, 0xEF]))
        for changed in ([0xDE, 0xAD, 0xBE, 0xEF] as [UInt8]).withOneBitFlipped {
            #expect(self.secret != SecretBytes(copying: changed))
        }
        #expect(self.secret != SecretBytes(copying: [0xDE, 0xAD, 0xBE]))
        #expect(SecretBytes(copying: []) == SecretBytes(utf8: ""))
    }

    @Test func theLastOwnerWipesThem() {
        let seen = Mutex<[[UInt8]]>([])
        var first: SecretBytes? = SecretBytes(copying: [1, 2, 3]) { bytes in seen.withLock { $0.append([UInt8](bytes)) }
        }
        var second = first
        first = nil
        #expect(seen.withLock { $0 }.isEmpty, "a copy still owns them")
        #expect(second?.withUnsafeBytes { [UInt8]($0) } == [1, 2, 3])
        second = nil
        #expect(seen.withLock { $0 } == [[0, 0, 0]])
    }

    @Test func aPasswordIsItsUTF8() {
        #expect(SecretBytes(utf8: "žluť") == SecretBytes(copying: Array("žluť".utf8)))
        #expect(SecretBytes(utf8: "e\u{301}") != SecretBytes(utf8: "\u{E9}"), "nothing is normalised")
    }

    @Test func aFailedFillingLeavesNothing() {
        struct Refused: Error {}
        #expect(throws: Refused.self) {
            try SecretBytes(count: 8) { (bytes) throws(Refused) in
                #expect(bytes.allSatisfy { $0 == 0 })
                throw Refused()
            }
        }
    }
}
