import Foundation
import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SDKConfigurationTests {
    private let key = [UInt8](repeating: 0xA1, count: 16)
    private let secret = [UInt8](repeating: 0xB2, count: 16)
    private let masterKey = P256PrivateKey.generate().publicKey

    private func text(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    private var good: [UInt8] {
        [1, 16] + self.key + [16] + self.secret + [1, 1, 65] + self.masterKey.uncompressed
    }

    private func expect(
        _ error: SDKConfigurationError,
        of bytes: [UInt8],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(throws: error, sourceLocation: sourceLocation) { try SDKConfiguration(parsing: self.text(bytes)) }
    }

    @Test func readsAndWritesTheSameText() throws {
        let configuration = try SDKConfiguration(parsing: self.text(self.good))
        #expect(configuration.applicationKey == Data(self.key).base64EncodedString())
        #expect(configuration.applicationSecret == ApplicationSecret(bytes: SecretBytes(copying: self.secret)))
        #expect(configuration.applicationSecret.base64 == Data(self.secret).base64EncodedString())
        #expect(configuration.masterPublicKey == self.masterKey)
        #expect(configuration.string == self.text(self.good))
        #expect(try SDKConfiguration(parsing: " \(self.text(self.good))\n") == configuration)
        let parts = try SDKConfiguration(
            applicationKey: self.text(self.key),
            applicationSecret: self.text(self.secret),
            masterPublicKey: self.text(self.masterKey.compressed)
        )
        #expect(parts == configuration)
        let description = "\(configuration)"
        #expect(!description.contains(configuration.applicationSecret.base64))
    }

    @Test func longLengthsAndForeignKeysAreRead() throws {
        let expected = try SDKConfiguration(parsing: self.text(self.good))
        let twoBytes =
            [1, 0x80, 16] + self.key + [16] + self.secret + [0x80, 1, 1, 0x80, 65] + self.masterKey.uncompressed
        #expect(try SDKConfiguration(parsing: self.text(twoBytes)) == expected)
        let fourBytes = [1, 16] + self.key + [0xC0, 0, 0, 16] + self.secret + [1, 1, 33] + self.masterKey.compressed
        #expect(try SDKConfiguration(parsing: self.text(fourBytes)) == expected)
        let foreign: [UInt8] = [7, 0x81, 0x00] + [UInt8](repeating: 9, count: 256)
        let twoKeys = [1, 16] + self.key + [16] + self.secret + [2] + foreign + [1, 33] + self.masterKey.compressed
        #expect(try SDKConfiguration(parsing: self.text(twoKeys)) == expected)
    }

    @Test func mistakesAreNamed() throws {
        #expect(throws: SDKConfigurationError.empty) { try SDKConfiguration(parsing: " \n") }
        #expect(throws: SDKConfigurationError.notBase64) { try SDKConfiguration(parsing: "ARDD!") }
        let head = [1, 16] + self.key + [16] + self.secret
        self.expect(.unsupportedVersion, of: [2] + self.good.dropFirst())
        self.expect(.trailingBytes, of: self.good + [0])
        self.expect(.invalidApplicationKey, of: [1, 15] + self.key.dropLast() + head.dropFirst(18))
        self.expect(.invalidApplicationSecret, of: [1, 16] + self.key + [1, 1, 0])
        self.expect(.missingMasterPublicKey, of: head + [0])
        self.expect(.missingMasterPublicKey, of: head + [1, 9, 1, 9])
        self.expect(.requiresVersion4, of: head + [1, 2, 1, 9])
        self.expect(.invalidMasterPublicKey, of: head + [1, 1, 3, 2, 2, 2])
        let twice: [UInt8] = [1, 33] + self.masterKey.compressed
        self.expect(.invalidMasterPublicKey, of: head + [2] + twice + twice)
        self.expect(.truncated, of: head + [0xFF, 0xFF, 0xFF, 0xFF])
        self.expect(.truncated, of: [1, 0xFF, 0xFF, 0xFF, 0xFF])
        for count in 1..<self.good.count { self.expect(.truncated, of: [UInt8](self.good.prefix(count))) }
        let parts = (self.text(self.key), self.text(self.secret), self.text(self.masterKey.compressed))
        #expect(throws: SDKConfigurationError.invalidApplicationKey) {
            try SDKConfiguration(applicationKey: "AA==", applicationSecret: parts.1, masterPublicKey: parts.2)
        }
        #expect(throws: SDKConfigurationError.invalidApplicationSecret) {
            try SDKConfiguration(applicationKey: parts.0, applicationSecret: "x", masterPublicKey: parts.2)
        }
        #expect(throws: SDKConfigurationError.invalidMasterPublicKey) {
            try SDKConfiguration(applicationKey: parts.0, applicationSecret: parts.1, masterPublicKey: parts.1)
        }
    }
}
