import Foundation
import MobileTokenTesting
import PowerAuthCrypto
import Testing

/// Every parser of outside input gives a value or a typed error for any input. What would end the process ends the test.
@Suite(.timeLimit(.minutes(5)))
struct ParserTests {
    private static let rounds = 3000

    /// Inputs that are nearly right reach further than random ones.
    private static let seeds = [
        #"PowerAuth pa_activation_id="77021887-2135-4faf-a3a7-a629294ba951", pa_nonce="BIMUNUodmbdvCFh+cx8Z0w==""#,
        #"PowerAuth token_id=""x"" , version=3.3 timestamp="1""#, "PowerAuth a==\"\"", "PowerAuth =\"=\"=",
        "k352=%c5%99%C3%A9&p250=%2541&&=%4", "W65WE-3T7VI-7FBS2-A4OYA#MEQCIH8Z",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJhcHBsaWNhdGlvbktleSI6ImtVbGli.AAAA",
        "ARDDj6EB6iAUtNmNxKM/BsbaEEs5bP+yVmyjfhQDoox3LDwBAUEE",
    ]

    private func texts(using generator: inout SeededGenerator) throws -> [String] {
        try (0..<Self.rounds).map { round in
            if round.isMultiple(of: 3) { return String(decoding: generator.bytes(upTo: 200), as: UTF8.self) }
            var bytes = Array(try generator.element(of: Self.seeds).utf8)
            for _ in 0..<Int.random(in: 1...6, using: &generator) {
                let index = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes.insert(UInt8(ascii: "\""), at: index)
                case 2 where bytes.count > 1: bytes.remove(at: index)
                default: bytes += bytes[index...]
                }
                if bytes.count > 2000 { bytes.removeSubrange(2000...) }
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    @Test func texts() throws {
        var generator = SeededGenerator()
        for text in try self.texts(using: &generator) {
            do { _ = try SignatureHeader(parsing: text) } catch {
                #expect(error.field.hasPrefix("pa_"), "\(generator)")
            }
            do { _ = try TokenHeader(parsing: text) } catch { #expect(!error.field.isEmpty, "\(generator)") }
            for scope in [EnvelopeScope.application, .activation] {
                do {
                    _ = try EncryptionHeader(parsing: text, scope: scope)
                } catch {
                    #expect(!error.field.isEmpty, "\(generator)")
                }
            }
            if let code = try? ActivationCode(parsing: text) {
                #expect(code.qrCodeContent == text, "\(generator): one text for each code")
            }
            if let configuration = try? SDKConfiguration(parsing: text) {
                #expect(try SDKConfiguration(parsing: configuration.string) == configuration, "\(generator)")
            }
            if let canonical = try? CanonicalQuery.string(of: text) {
                #expect(try CanonicalQuery.string(of: canonical) == canonical, "\(generator): \(text)")
            }
            if let bytes = Base64.decode(text) { #expect(Base64.encode(bytes) == text, "\(generator)") }
            if let bytes = Base64URL.decode(text) { #expect(Base64URL.encode(bytes) == text, "\(generator)") }
            if let token = JSONWebToken(text) { #expect(!token.signature.isEmpty, "\(generator)") }
            if UUIDString.isValid(text) { #expect(UUID(uuidString: text) != nil, "\(generator)") }
        }
    }

    @Test func bytes() throws {
        var generator = SeededGenerator()
        let (key, vector) = (generator.secret(16), generator.bytes(16))
        for round in 0..<Self.rounds {
            var bytes = generator.bytes(upTo: 80)
            if round.isMultiple(of: 2) { bytes = generator.bytes(try generator.element(of: [16, 32, 33, 48, 64, 65])) }
            if let first = bytes.indices.first, round.isMultiple(of: 3) { bytes[first] = [2, 3, 4, 0x30][round % 4] }
            if let point = try? P256PublicKey(x963: bytes) {
                #expect([point.compressed, point.uncompressed].contains(bytes), "\(generator)")
            }
            if let raw = try? ECDSASignature.raw(fromDER: bytes) {
                #expect(try ECDSASignature.der(fromRaw: raw) == bytes, "\(generator)")
            }
            if let blob = try? ActivationStatusBlob(bytes: bytes) { #expect(blob.bytes == bytes, "\(generator)") }
            if let text = try? AES128CBC.decrypt(bytes, key: key, iv: vector, padding: .pkcs7) {
                #expect(try AES128CBC.encrypt(text, key: key, iv: vector, padding: .pkcs7) == bytes, "\(generator)")
            }
            if let vaultKey = try? Vault.decryptVaultKey(bytes, transportKey: key) {
                #expect(vaultKey.count == 16, "\(generator)")
            }
            _ = try? Vault.decryptDevicePrivateKey(bytes, vaultKey: key)
        }
    }
}
