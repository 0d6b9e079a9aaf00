import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@Suite(.enabled(if: VectorFile.exists("vault")))
struct VaultVectors {
    struct Input: Decodable {
        let devicePrivateKey: Bytes
        let serverPrivateKey: Bytes
        let devicePublicKeyCompressed: Bytes
        let serverPublicKeyCompressed: Bytes
    }

    struct Output: Decodable {
        let transportKey: Bytes
        let vaultKey: Bytes
        let encryptedVaultEncryptionKey: Bytes
        let encryptedDevicePrivateKey: Bytes
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "vault"))
    func theServerHandsOutWhatTheClientOpens(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        let device = try input.devicePrivateKey.privateKey
        let keys = try ActivationKeys(privateKey: device, publicKey: try input.serverPublicKeyCompressed.publicKey)
        #expect(keys.transport == output.transportKey.secret)
        #expect(keys.vault == output.vaultKey.secret)

        let sent = try Vault.encrypt(vaultKey: keys.vault, transportKey: keys.transport)
        #expect(sent == output.encryptedVaultEncryptionKey.bytes)
        #expect(try Vault.decryptVaultKey(sent, transportKey: keys.transport) == keys.vault)

        let stored = try Vault.encrypt(devicePrivateKey: device, vaultKey: keys.vault)
        #expect(stored == output.encryptedDevicePrivateKey.bytes)
        let opened = try Vault.decryptDevicePrivateKey(stored, vaultKey: keys.vault)
        #expect(opened.scalar == input.devicePrivateKey.secret)
        #expect(opened.publicKey.compressed == input.devicePublicKeyCompressed.bytes)
    }
}
