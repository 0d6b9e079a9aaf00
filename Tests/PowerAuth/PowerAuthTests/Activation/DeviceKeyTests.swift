import Foundation
import TestSupport
import Testing

@testable import EmulatorBackend
import PowerAuth
@testable import PowerAuthClient

/// The signatures of the device's keys for others to check, judged by somebody else's tools where they can.
@Suite(.timeLimit(.minutes(5))) struct DeviceKeyTests {

    private struct Claims: Codable, Equatable {
        var sub = "alice"
        var exp = Date(timeIntervalSince1970: 1_700_000_000)
        var url = "https://example.com/"
    }

    private func openssl(_ words: String..., input: (name: String, content: String)) async throws -> String {
        let folder = try TemporaryFolder()
        let file = folder.file(input.name)
        try Data(input.content.utf8).write(to: URL(filePath: file))
        let outcome = try await ChildProcess.run(
            "openssl",
            words + ["-in", file],
            environment: ["PATH": "/usr/bin:/bin"]
        )
        try #require(outcome.exitCode == 0, "\(outcome.errors)")
        return outcome.output + outcome.errors
    }

    @Test(arguments: [ProtocolVersion.v3_3, .v4_0])
    func thePublicKeyIsTheOneTheServerKnows(version: ProtocolVersion) async throws {
        let (fixture, activation) = try await Fixture(version: version).activated
        let requests = fixture.server.state.value.requests.count
        let keys = try await activation.devicePublicKeys()
        #expect(fixture.server.state.value.requests.count == requests)
        let known =
            version == .v4_0
            ? try fixture.server.keys4(activation.activationID).deviceKeys.ecdsa.uncompressed
            : try #require(fixture.server.device(activation.activationID)).deviceKey.uncompressed
        #expect(keys.ecdsa.rawBytes == known)
        #expect(keys.mldsa == nil)
        let text = try await self.openssl("pkey", "-pubin", "-text", "-noout", input: ("key.pem", keys.ecdsa.pem))
        #expect(text.contains(version == .v4_0 ? "P-384" : "P-256"))
        let body = keys.ecdsa.pem.split(separator: "\n").dropFirst().dropLast().joined()
        #expect(Data(base64Encoded: body) == Data(keys.ecdsa.der))
        #expect(keys.ecdsa.der.suffix(known.count) == known[...])
    }

    @Test(arguments: [ProtocolVersion.v3_3, .v4_0])
    func aCertificateRequestIsVerifiedByOpenSSL(version: ProtocolVersion) async throws {
        let (_, activation) = try await Fixture(version: version).activated
        var subject: DeviceKey.CertificateSubject = ["CN": "Žluťoučký bot", "O": "Example, Bank", "2.5.4.5": "42"]
        subject.alternativeNames = [
            .hostName("bot.example.com"), .address("192.0.2.1"), .address("2001:db8::1"), .email("bot@example.com"),
            .uri("urn:bot,DNS:evil.example.com"),
        ]
        let request = try await activation.certificateRequest(for: subject, with: Fixture.twoFactors)
        let text = try await self.openssl(
            "req",
            "-verify",
            "-noout",
            "-text",
            "-pubkey",
            "-nameopt",
            "utf8,sep_comma_plus",
            input: ("request.pem", request.pem)
        )
        #expect(text.contains("verify OK"))
        #expect(text.contains("CN=Žluťoučký bot,O=Example, Bank,serialNumber=42"), "\(text)")
        #expect(text.contains("DNS:bot.example.com, IP Address:192.0.2.1, IP Address:2001:DB8:0:0:0:0:0:1"))
        #expect(text.contains("email:bot@example.com"))
        #expect(text.contains(version == .v4_0 ? "ecdsa-with-SHA384" : "ecdsa-with-SHA256"))
        #expect(text.contains(try await activation.devicePublicKeys().ecdsa.pem))
        #expect(
            Data(base64Encoded: request.pem.split(separator: "\n").dropFirst().dropLast().joined()) == Data(request.der)
        )
    }

    @Test(arguments: [
        ["": "x"], ["CN": ""], ["CN": "a\nb"], ["CN": "a\0b"], ["NoSuchPart": "x"], ["C": "Czechia"], ["C\0N": "x"],
        ["CN": String(repeating: "x", count: 65)],
    ])
    func aNameThatNoCertificateHasIsRefusedBeforeTheVaultIsAskedFor(name: [String: String]) async throws {
        let (fixture, activation) = try await Fixture().activated
        let subject = DeviceKey.CertificateSubject(name: name.map { (type: $0.key, value: $0.value) })
        await expectError(.invalidRequest) {
            _ = try await activation.certificateRequest(for: subject, with: Fixture.twoFactors)
        }
        #expect(fixture.server.requestCount("/vault/unlock") == 0)
    }

    @Test(arguments: [
        DeviceKey.CertificateSubject.AlternativeName.hostName(""), .hostName("a\0.example.com"), .hostName("a@b"),
        .address("1.2.3"), .address("localhost"), .email("nobody"), .uri("nothing"), .uri("urn:ž"),
    ])
    func anotherNameThatIsNoneIsRefused(name: DeviceKey.CertificateSubject.AlternativeName) async throws {
        let (fixture, activation) = try await Fixture().activated
        var subject: DeviceKey.CertificateSubject = ["CN": "bot"]
        subject.alternativeNames = [name]
        await expectError(.invalidRequest) {
            _ = try await activation.certificateRequest(for: subject, with: Fixture.twoFactors)
        }
        #expect(fixture.server.requestCount("/vault/unlock") == 0)
    }

    @Test(arguments: [ProtocolVersion.v3_3, .v4_0])
    func aTokenIsSignedByTheDevice(version: ProtocolVersion) async throws {
        let (_, activation) = try await Fixture(version: version).activated
        let token = try await activation.deviceWebToken(of: Claims(), with: Fixture.twoFactors)
        let parts = token.split(separator: ".").map(String.init)
        try #require(parts.count == 3)
        let header = String(decoding: try #require(Base64URL.decode(parts[0])), as: UTF8.self)
        #expect(header == #"{"alg":"\#(version == .v4_0 ? "ES384" : "ES256")","typ":"JWT"}"#)
        let payload = String(decoding: try #require(Base64URL.decode(parts[1])), as: UTF8.self)
        #expect(payload == #"{"exp":1700000000,"sub":"alice","url":"https://example.com/"}"#)
        let signature = try #require(Base64URL.decode(parts[2]))
        let input = Array("\(parts[0]).\(parts[1])".utf8)
        let key = try await activation.devicePublicKeys().ecdsa.rawBytes
        func isValid(_ input: [UInt8]) throws -> Bool {
            version == .v4_0
                ? try P384PublicKey(x963: key).isValid(rawSignature: signature, for: input)
                : try P256PublicKey(x963: key).isValid(rawSignature: signature, for: input)
        }
        #expect(signature.count == (version == .v4_0 ? 96 : 64))
        #expect(try isValid(input))
        #expect(try !isValid(input + [0]))
    }

    @Test func bytesOfAnyKindAreSigned() async throws {
        let (_, activation) = try await Fixture().activated
        let bytes: [UInt8] = [0, 255, 46]
        let plain = try await activation.deviceWebSignature(of: bytes, with: Fixture.twoFactors)
        #expect(
            plain.hasPrefix(Base64URL.encode(Array(#"{"alg":"ES256"}"#.utf8)) + "." + Base64URL.encode(bytes) + ".")
        )
        let general = try await activation.deviceWebSignature(of: bytes, form: .general, with: Fixture.twoFactors)
        let parsed = try #require(JSONWebSignature(general))
        #expect(parsed.payload == bytes)
        let typed = try await activation.deviceWebSignature(of: bytes, type: "a\"b", with: Fixture.twoFactors)
        #expect(typed.hasPrefix(Base64URL.encode(Array(#"{"alg":"ES256","typ":"a\"b"}"#.utf8)) + "."))
    }

    @Test func possessionAloneSignsNothing() async throws {
        let (fixture, activation) = try await Fixture().activated
        await expectError(.invalidAuthentication) {
            _ = try await activation.deviceWebSignature(of: [], with: .possession)
        }
        await expectError(.invalidAuthentication) {
            _ = try await activation.certificateRequest(for: ["CN": "bot"], with: .possession)
        }
        #expect(fixture.server.requestCount("/vault/unlock") == 0)
    }

    @Test(arguments: [ProtocolVersion.v3_3, .v4_0])
    func aKeyThatTheActivationDoesNotHaveSignsNothing(version: ProtocolVersion) async throws {
        let (fixture, activation) = try await Fixture(version: version).activated
        await expectError(.notSupported) {
            _ = try await activation.deviceWebSignature(of: [1], form: .compact(.mldsa), with: Fixture.twoFactors)
        }
        await expectError(.notSupported) {
            _ = try await activation.certificateRequest(for: ["CN": "bot"], by: .mldsa, with: Fixture.twoFactors)
        }
        #expect(fixture.server.requestCount("/vault/unlock") == 0)
    }

    @Test(.enabled(if: PostQuantumAlgorithm.mlDSA65.isAvailable, "this libcrypto has no ML-DSA"))
    func aHybridDeviceSignsWithBothKeys() async throws {
        let (fixture, activation) = try await Fixture(suite: .p384MLLevel3, version: .v4_0).activated
        let keys = try fixture.server.keys4(activation.activationID).deviceKeys
        let mldsa = try #require(keys.mldsa)
        let exported = try #require(try await activation.devicePublicKeys().mldsa)
        #expect(exported.der == mldsa.publicKeyInfo)
        #expect(exported.rawBytes.count == 1952)

        let general = try await activation.deviceWebSignature(of: [1, 2], form: .general, with: Fixture.twoFactors)
        try #require(JSONWebSignature(general)).verify(signedBy: keys)

        let compact = try await activation.deviceWebSignature(
            of: [1, 2],
            form: .compact(.mldsa),
            with: Fixture.twoFactors
        )
        let parts = compact.split(separator: ".").map(String.init)
        #expect(try #require(Base64URL.decode(parts[0])) == Array(#"{"alg":"ML-DSA-65"}"#.utf8))
        let signature = try #require(Base64URL.decode(parts[2]))
        #expect(mldsa.isValid(signature, for: Array("\(parts[0]).\(parts[1])".utf8)))

        let request = try await activation.certificateRequest(
            for: ["CN": "bot"],
            by: .mldsa,
            with: Fixture.twoFactors
        ).der
        // A sequence of what is signed, a sequence too, the algorithm and the signature; all long enough for two bytes of length.
        let signed = request[4..<(8 + 256 * Int(request[6]) + Int(request[7]))]
        #expect(mldsa.isValid(request.suffix(3309), for: Array(signed)))
        #expect(signed.count > 1952)
    }

    // MARK: Checked by others

    @Test(arguments: [ProtocolVersion.v3_3, .v4_0])
    func aStrangerChecksWhatTheDeviceSigned(version: ProtocolVersion) async throws {
        let (_, activation) = try await Fixture(version: version).activated
        let (_, other) = try await Fixture(version: version).activated
        let payload = Array("anything".utf8)
        let signature = try await activation.deviceWebSignature(of: payload, with: Fixture.twoFactors)
        let known = try await activation.devicePublicKeys().ecdsa
        let key = try DeviceKey.PublicKey(pem: known.pem)
        #expect(key == known)
        #expect(try DeviceKey.PublicKey(der: known.der) == known)
        #expect(key.payload(ofWebSignature: signature) == payload)
        #expect(try await other.devicePublicKeys().ecdsa.payload(ofWebSignature: signature) == nil)
        // Each character decides, but for the bits of a last one that base64 does not use.
        let characters = Array(signature.utf8)
        for position in characters.indices {
            var damaged = characters
            damaged[position] = damaged[position] == 0x41 ? 0x42 : 0x41
            let result = key.payload(ofWebSignature: String(decoding: damaged, as: UTF8.self))
            #expect(result == nil, "\(position)")
        }
        for none in ["", ".", "..", "a.b.c", signature + ".", signature + "=", " " + signature] {
            #expect(key.payload(ofWebSignature: none) == nil)
        }
    }

    @Test func anAlgorithmOfAnotherKeyIsNone() async throws {
        let key = P256PrivateKey.generate()
        let verifier = try DeviceKey.PublicKey(der: key.publicKey.publicKeyInfo())
        for header in [
            #"{"alg":"none"}"#, #"{"alg":"HS256"}"#, #"{"alg":"ES384"}"#, #"{"alg":"ES256","crit":["x"]}"#, "{}",
        ] {
            let input = "\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode([1]))"
            let signature = try key.rawSignature(for: Array(input.utf8))
            #expect(verifier.payload(ofWebSignature: "\(input).\(Base64URL.encode(signature))") == nil, "\(header)")
        }
        #expect(verifier.payload(ofWebSignature: try JSONWebSignature.compact([1], signedBy: key.jwsSigner)) == [1])
    }

    @Test func onlyKeysOfDevicesAreRead() async throws {
        let key = P256PrivateKey.generate().publicKey
        let der = try key.publicKeyInfo()
        let pem = try DeviceKey.PublicKey(der: der).pem
        #expect(try DeviceKey.PublicKey(pem: pem.replacing("\n", with: "\r\n")).der == der)
        for wrong in [[], key.uncompressed, key.compressed, Array(der.dropLast()), der + [0], [0x31] + der.dropFirst()]
        {
            #expect(throws: MobileTokenError.self) { try DeviceKey.PublicKey(der: wrong) }
        }
        for wrong in ["", "x", pem.replacing("PUBLIC", with: "PRIVATE"), String(pem.dropLast(8)), "x" + pem] {
            #expect(throws: MobileTokenError.self) { try DeviceKey.PublicKey(pem: wrong) }
        }
    }

    @Test(.enabled(if: PostQuantumAlgorithm.mlDSA65.isAvailable)) func aKeyForMLDSAIsCheckedToo() async throws {
        let (_, activation) = try await Fixture(suite: .p384MLLevel3, version: .v4_0).activated
        let keys = try await activation.devicePublicKeys()
        let mldsa = try DeviceKey.PublicKey(pem: #require(keys.mldsa).pem)
        let form = DeviceKey.WebSignatureForm.compact(.mldsa)
        let signature = try await activation.deviceWebSignature(of: [7], form: form, with: Fixture.twoFactors)
        #expect(mldsa.payload(ofWebSignature: signature) == [7])
        #expect(keys.ecdsa.payload(ofWebSignature: signature) == nil)
    }

    @Test(arguments: [ProtocolVersion.v3_3, .v4_0])
    func theSignatureOfAnOperationIsOfItsData(version: ProtocolVersion) async throws {
        let (_, activation) = try await Fixture(version: version).activated
        let data = #"A1*A10CZK*NŽ "quoted" \/*R1"#
        let token = try await activation.deviceSignature(ofOperationData: data, with: Fixture.twoFactors)
        let key = try await activation.devicePublicKeys().ecdsa
        #expect(key.isSignature(token, ofOperationData: data))
        for other in [data + " ", "", data.decomposedStringWithCanonicalMapping] {
            #expect(!key.isSignature(token, ofOperationData: other))
        }
    }
}

extension MLDSAPublicKey {
    fileprivate func isValid(_ signature: ArraySlice<UInt8>, for message: [UInt8]) -> Bool {
        self.isValid(Array(signature), for: message)
    }
}
