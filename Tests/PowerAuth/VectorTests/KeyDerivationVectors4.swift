import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@Suite(.vectors4("kdf"))
struct KeyDerivationVectors4 {
    struct Input: Decodable {
        let key: Bytes
        let label: String
        let diversifier: Bytes?
        let length: Int
    }

    struct Output: Decodable { let derivedKey: Bytes }

    @Test(arguments: try Vector<Input, Output>.all(in: "kdf", of: .version4))
    func derivedKey(_ vector: Vector<Input, Output>) throws {
        let input = vector.input
        let key = try Version4.KeyDerivation.derive(
            input.key.secret,
            label: input.label,
            diversifier: input.diversifier?.bytes ?? [],
            count: input.length
        )
        #expect(key == vector.output.derivedKey.secret)
    }
}

@Suite(.vectors4("pbkdf"))
struct PasswordKeyVectors4 {
    struct Input: Decodable {
        let password: String
        let salt: Bytes
        let length: Int
    }

    struct Output: Decodable { let key: Bytes? }

    @Test(arguments: try Vector<Input, Output>.all(in: "pbkdf", of: .version4))
    func passwordKey(_ vector: Vector<Input, Output>) throws {
        let input = vector.input
        let derive = {
            try Version4.KeyDerivation.passwordKey(
                password: SecretBytes(utf8: input.password),
                salt: input.salt.bytes,
                count: input.length
            )
        }
        guard let expected = vector.output.key else {
            #expect(throws: CryptoError(.invalidLength)) { try derive() }
            return
        }
        #expect(try derive() == expected.secret)
    }
}

@Suite(.vectors4("key-tree"))
struct KeyTreeVectors4 {
    struct Input: Decodable {
        let activationSecret: Bytes
        let applicationSecret: String
    }

    struct ApplicationKey: Decodable {
        let kind: Version4.VaultKeyIdentifier
        let index: UInt64
        let key: Bytes
    }

    struct Output: Decodable {
        let possession: Bytes
        let knowledge: Bytes
        let biometry: Bytes
        let kekDevicePrivate: Bytes
        let kdkAppVaultKnowledge: Bytes
        let kdkAppVault2fa: Bytes
        let macCtrData: Bytes
        let macStatus: Bytes
        let macGetActTempKey: Bytes
        let macPersonalizedData: Bytes
        let e2eeSharedInfo2: Bytes
        let kdk: [String: Bytes]
        let macGetAppTempKey: Bytes
        let vaultAppKeys: [ApplicationKey]
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "key-tree", of: .version4))
    func everyKey(_ vector: Vector<Input, Output>) throws {
        let output = vector.output
        let secret = vector.input.activationSecret.secret
        let keys = try Version4.ActivationKeys(activationSecret: secret)
        #expect(keys.possession == output.possession.secret)
        #expect(keys.knowledge == output.knowledge.secret)
        #expect(keys.biometry == output.biometry.secret)
        #expect(keys.vault.key(.devicePrivateKeys) == output.kekDevicePrivate.secret)
        #expect(keys.vault.key(.applicationKnowledge) == output.kdkAppVaultKnowledge.secret)
        #expect(keys.vault.key(.applicationTwoFactor) == output.kdkAppVault2fa.secret)
        #expect(keys.utility.counterHash == output.macCtrData.secret)
        #expect(keys.utility.status == output.macStatus.secret)
        #expect(keys.utility.temporaryKeyRequest == output.macGetActTempKey.secret)
        #expect(keys.utility.personalizedData == output.macPersonalizedData.secret)
        #expect(keys.utility.sharedInfo2 == output.e2eeSharedInfo2.secret)
        #expect(Set(output.kdk.keys) == Set(Version4.ActivationKeys.Branch.allCases.map(\.rawValue)))
        for branch in Version4.ActivationKeys.Branch.allCases {
            let key = try Version4.ActivationKeys.key(of: branch, activationSecret: secret)
            #expect(key == output.kdk[branch.rawValue]?.secret)
        }
        let applicationSecret = try #require(ApplicationSecret(base64: vector.input.applicationSecret))
        let requestKey = try Version4.KeyDerivation.temporaryKeyRequestKey(applicationSecret: applicationSecret)
        #expect(requestKey == output.macGetAppTempKey.secret)
        for expected in output.vaultAppKeys {
            let base = keys.vault.key(expected.kind)
            let count = expected.key.bytes.count
            let key = try Version4.ApplicationVaultKey.derive(
                from: base,
                of: expected.kind,
                index: expected.index,
                count: count
            )
            #expect(key == expected.key.secret)
        }
    }
}
