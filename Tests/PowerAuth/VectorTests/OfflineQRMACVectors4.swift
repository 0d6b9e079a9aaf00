import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@Suite(.vectors4("offline-qr-mac"))
struct OfflineQRMACVectors4 {
    struct Input: Decodable {
        let activationSecret: Bytes
        let qr: String
    }

    struct Output: Decodable { let valid: Bool }

    @Test(arguments: try Vector<Input, Output>.all(in: "offline-qr-mac", of: .version4))
    func theLastLineAuthenticates(_ vector: Vector<Input, Output>) throws {
        let (code, valid) = (vector.input.qr, vector.output.valid)
        let secret = vector.input.activationSecret.secret
        let key = try Version4.ActivationKeys(activationSecret: secret).utility.personalizedData
        #expect(Version4.OfflineQRMAC.isValid(code: code, key: key) == valid)
        guard valid else { return }
        // The digit and 44 characters of Base64 end the code.
        let data = [UInt8](code.utf8.dropLast(44))
        let tag = try Version4.OfflineQRMAC.tag(of: data, key: key)
        #expect(String(decoding: data, as: UTF8.self) + Base64.encode(tag) == code)
    }
}
