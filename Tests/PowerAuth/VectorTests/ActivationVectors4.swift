import EmulatorBackend
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@Suite(.vectors4("activation"))
struct ActivationVectors4 {
    struct Input: Decodable {
        let algorithm: AlgorithmSuite
        let applicationKey: String
        let applicationSecret: String
        let temporaryKeyId: String
        let temporarySharedSecret: Bytes
        let client: AgreementKeys
        let device: PrivateKeys
        let activationCode: String
        let request: JSONValue
        let response: JSONValue
        let outerNonce: Bytes
        let innerNonce: Bytes
        let confirmNonce: Bytes
        let confirmBody: Bytes

        func parameters(_ purpose: Version4.EncryptionPurpose) throws -> Version4.EncryptionParameters {
            try Version4.EncryptionParameters(
                applicationKey: self.applicationKey,
                applicationSecret: try #require(ApplicationSecret(base64: self.applicationSecret)),
                scope: .application,
                purpose: purpose,
                temporaryKeyID: self.temporaryKeyId,
                temporaryKey: self.temporarySharedSecret.secret
            )
        }
    }

    struct Output: Decodable {
        let innerRequestPlaintext: Bytes
        let innerResponsePlaintext: Bytes
        let activationId: String
        let ctrData: Bytes
        let activationSecret: Bytes
        let fingerprint: String
        let confirmHeader: String
    }

    typealias Case = Vector<Input, Output>

    @Test(arguments: try Case.all(in: "activation", postQuantum: false))
    func createAndConfirm(_ vector: Case) throws { try self.check(vector) }

    @Test(.postQuantum, arguments: try Case.all(in: "activation", postQuantum: true))
    func createAndConfirmInHybridSuites(_ vector: Case) throws { try self.check(vector) }

    private func check(_ vector: Case) throws {
        let (input, output) = (vector.input, vector.output)
        try self.serverOpensTheRequest(vector)
        let content = try self.clientOpensTheResponse(vector)
        #expect(content.activationID == output.activationId)
        #expect(content.keys.counterData == output.ctrData.secret)
        #expect(try json(encodeJSON(content)) == json(output.innerResponsePlaintext.bytes))

        let secret = try input.client.agreement(input.algorithm).secret(from: content.keys.sharedSecretResponse)
        #expect(secret == output.activationSecret.secret)
        let fingerprint = Version4.ActivationFingerprint(
            devicePublicKeys: try input.device.keys(input.algorithm).publicKeys,
            activationID: content.activationID,
            serverPublicKeys: try content.keys.serverPublicKeys.keys(of: input.algorithm)
        )
        #expect(fingerprint.digits == output.fingerprint)
        try self.confirms(vector, secret: secret, counterData: content.keys.counterData)
    }

    private func serverOpensTheRequest(_ vector: Case) throws {
        let (input, output) = (vector.input, vector.output)
        let encrypted = try decodeJSON(Version4.EncryptedRequest.self, input.request)
        #expect(encrypted.nonce == input.outerNonce.bytes)
        var outer = Version4.ServerExchange(parameters: try input.parameters(.genericApplication))
        let outerJSON = try json(outer.decryptRequest(encrypted))
        let request = try decodeJSON(Version4.ActivationRequest.self, outerJSON)
        #expect(request.type == Version4.ActivationRequest.codeType)
        #expect(request.identityAttributes == ["code": input.activationCode])
        #expect(ActivationCode.isValid(input.activationCode))
        let made = Version4.ActivationRequest(
            code: input.activationCode,
            customAttributes: request.customAttributes,
            activationData: request.activationData
        )
        #expect(try json(encodeJSON(made)) == outerJSON)
        #expect(request.activationData.nonce == input.innerNonce.bytes)

        var inner = Version4.ServerExchange(parameters: try input.parameters(.activation))
        let plaintext = try inner.decryptRequest(request.activationData)
        #expect(plaintext == output.innerRequestPlaintext.bytes)
        let content = try decodeJSON(Version4.ActivationRequestContent.self, json(plaintext))
        #expect(try json(encodeJSON(content)) == json(plaintext))
        #expect(content.sharedSecretRequest == (try input.client.agreement(input.algorithm).request))
        let deviceKeys = try input.device.keys(input.algorithm).publicKeys
        #expect(try content.devicePublicKeys.keys(of: input.algorithm) == deviceKeys)
        // The outer layer is not sealed for the purpose of the inner one.
        #expect(throws: EncryptionError.authenticationFailed) { try inner.decryptRequest(encrypted) }
    }

    private func clientOpensTheResponse(_ vector: Case) throws -> Version4.ActivationResponseContent {
        let input = vector.input
        let outer = try self.opened(input.response, .genericApplication, nonce: input.outerNonce, input)
        let encrypted = try #require(json(outer)["activationData"])
        let inner = try self.opened(encrypted, .activation, nonce: input.innerNonce, input)
        #expect(inner == vector.output.innerResponsePlaintext.bytes)
        return try decodeJSON(Version4.ActivationResponseContent.self, json(inner))
    }

    private func opened(
        _ response: JSONValue,
        _ purpose: Version4.EncryptionPurpose,
        nonce: Bytes,
        _ input: Input
    ) throws -> [UInt8] {
        var client = Version4.ClientExchange(parameters: try input.parameters(purpose))
        _ = try client.encryptRequest([], nonce: nonce.bytes, timestamp: 0)
        return try client.decryptResponse(decodeJSON(Version4.EncryptedResponse.self, response))
    }

    private func confirms(_ vector: Case, secret: SecretBytes, counterData: SecretBytes) throws {
        let input = vector.input
        let confirmation = try json(encodeJSON(Version4.ActivationConfirmation(enableBiometry: true)))
        #expect(try json(input.confirmBody.bytes) == ["requestObject": confirmation])
        let keys = try Version4.ActivationKeys(activationSecret: secret)
        let data = SignatureData(
            method: "POST",
            uriID: "/pa/activation/confirm",
            nonce: input.confirmNonce.bytes,
            body: input.confirmBody.bytes
        )
        let applicationSecret = try #require(ApplicationSecret(base64: input.applicationSecret))
        let counter = Version4.HashCounter(data: counterData)
        let header = Version4.AuthenticationHeader(
            activationID: vector.output.activationId,
            applicationKey: input.applicationKey,
            nonce: input.confirmNonce.bytes,
            type: .possessionKnowledge,
            code: try Version4.AuthenticationCode(
                data,
                keys: [keys.possession, keys.knowledge],
                counter: counter,
                secret: .online(applicationSecret)
            )
        )
        #expect(header.value == vector.output.confirmHeader)
        let verifier = Version4.AuthenticationCodeVerifier(
            keys: Version4.ServerFactorKeys(
                possession: keys.possession,
                knowledge: .init(current: keys.knowledge),
                biometry: .init(current: nil)
            ),
            counter: counter
        )
        let outcome = try verifier.verify(
            online: header.code,
            of: header.type,
            for: data,
            secret: .online(applicationSecret)
        )
        guard case .accepted(let match) = outcome else {
            Issue.record("refused")
            return
        }
        #expect(match.offset == 0)
    }
}

@Suite(.vectors4("upgrade"))
struct UpgradeVectors4 {
    struct Input: Decodable {
        let algorithm: AlgorithmSuite
        let applicationKey: String
        let applicationSecret: String
        let activationId: String
        let temporaryKeyId: String
        let temporarySharedSecret: Bytes
        let v3FactorKeys: [Bytes]
        let v3CtrData: Bytes
        /// The number of the code of `upgrade/start`.
        let v3CtrByte: UInt8
        let client: AgreementKeys
        let device: PrivateKeys
        let nonce: Bytes
        let requestBody: Bytes
        let response: JSONValue
        let confirmNonce: Bytes
        let confirmBody: Bytes
    }

    struct Output: Decodable {
        let requestPlaintext: Bytes
        let authorizationHeader: String
        let encryptionHeader: String
        let responsePlaintext: Bytes
        let activationSecret: Bytes
        let ctrData: Bytes
        /// The number of the code of `upgrade/confirm`.
        let ctrByte: UInt8
        let confirmHeader: String
    }

    typealias Case = Vector<Input, Output>

    @Test(arguments: try Case.all(in: "upgrade", postQuantum: false))
    func startAndConfirm(_ vector: Case) throws { try self.check(vector) }

    @Test(.postQuantum, arguments: try Case.all(in: "upgrade", postQuantum: true))
    func startAndConfirmInHybridSuites(_ vector: Case) throws { try self.check(vector) }

    private func check(_ vector: Case) throws {
        let (input, output) = (vector.input, vector.output)
        let applicationSecret = try #require(ApplicationSecret(base64: input.applicationSecret))
        let parameters = try Version4.EncryptionParameters(
            applicationKey: input.applicationKey,
            applicationSecret: applicationSecret,
            scope: .application,
            purpose: .upgradeStart,
            temporaryKeyID: input.temporaryKeyId,
            temporaryKey: input.temporarySharedSecret.secret
        )
        #expect(parameters.header.value == output.encryptionHeader)
        try self.checkVersion3Signature(vector, applicationSecret)

        let request = try decodeJSON(Version4.EncryptedRequest.self, json(input.requestBody.bytes))
        var server = Version4.ServerExchange(parameters: parameters)
        let plaintext = try server.decryptRequest(request)
        #expect(plaintext == output.requestPlaintext.bytes)
        let content = try decodeJSON(Version4.UpgradeRequest.self, json(plaintext))
        let agreement = try input.client.agreement(input.algorithm)
        let made = Version4.UpgradeRequest(
            sharedSecretRequest: agreement.request,
            devicePublicKeys: try input.device.keys(input.algorithm).publicKeys,
            enableBiometry: content.enableBiometry
        )
        #expect(content == made)
        #expect(try json(encodeJSON(made)) == json(plaintext))

        var client = Version4.ClientExchange(parameters: parameters)
        _ = try client.encryptRequest([], nonce: request.nonce, timestamp: 0)
        let response = try client.decryptResponse(decodeJSON(Version4.EncryptedResponse.self, input.response))
        #expect(response == output.responsePlaintext.bytes)
        let keys = try decodeJSON(Version4.NewKeysMessage.self, json(response))
        #expect(try json(encodeJSON(keys)) == json(response))
        #expect(keys.counterData == output.ctrData.secret)
        #expect(throws: Never.self) { try keys.serverPublicKeys.keys(of: input.algorithm) }
        let secret = try agreement.secret(from: keys.sharedSecretResponse)
        #expect(secret == output.activationSecret.secret)
        // After the code of the start, whose number is in no header.
        let next = HashCounter(data: input.v3CtrData.secret, byte: input.v3CtrByte).next()
        let counter = Version4.HashCounter(data: keys.counterData, byte: next.byte)
        #expect(counter.byte == output.ctrByte)
        try self.checkConfirmation(vector, applicationSecret, secret: secret, counter: counter)
    }

    /// The request is signed as in version 3.3, over the body as it is sent.
    private func checkVersion3Signature(_ vector: Case, _ secret: ApplicationSecret) throws {
        let input = vector.input
        let data = SignatureData(
            method: "POST",
            uriID: "/pa/upgrade/start",
            nonce: input.nonce.bytes,
            body: input.requestBody.bytes
        )
        let signature = RequestSignature(
            data,
            keys: input.v3FactorKeys.map(\.secret),
            counter: HashCounter(data: input.v3CtrData.secret),
            secret: .online(secret)
        )
        let header = SignatureHeader(
            activationID: input.activationId,
            applicationKey: input.applicationKey,
            nonce: input.nonce.bytes,
            type: .possessionKnowledge,
            signature: signature.onlineBytes,
            version: .v3_3
        )
        #expect(try SignatureHeader(parsing: vector.output.authorizationHeader) == header)
        #expect(throws: HeaderError.self) {
            try Version4.AuthenticationHeader(parsing: vector.output.authorizationHeader)
        }
    }

    private func checkConfirmation(
        _ vector: Case,
        _ applicationSecret: ApplicationSecret,
        secret: SecretBytes,
        counter: Version4.HashCounter
    ) throws {
        let input = vector.input
        #expect(try json(input.confirmBody.bytes) == ["requestObject": [:]])
        let data = SignatureData(
            method: "POST",
            uriID: "/pa/upgrade/confirm",
            nonce: input.confirmNonce.bytes,
            body: input.confirmBody.bytes
        )
        let header = Version4.AuthenticationHeader(
            activationID: input.activationId,
            applicationKey: input.applicationKey,
            nonce: input.confirmNonce.bytes,
            type: .possession,
            code: try Version4.AuthenticationCode(
                data,
                keys: [try Version4.ActivationKeys(activationSecret: secret).possession],
                counter: counter,
                secret: .online(applicationSecret)
            )
        )
        #expect(header.value == vector.output.confirmHeader)
    }
}
