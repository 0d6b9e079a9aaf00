import PowerAuthProtocol
import Testing

@Suite(.enabled(if: VectorFile.exists("status-blob")))
struct StatusBlobVectors {
    struct Input: Decodable {
        let transportKey: Bytes
        let challenge: Bytes
        let nonce: Bytes
        let encryptedStatusBlob: Bytes
        let serverCtrData: Bytes
        let clientCtrData: Bytes
        let clientCtrByte: UInt8
    }

    struct Output: Decodable {
        let valid: Bool
        let iv: Bytes?
        let statusBlob: Bytes?
        let activationStatus: UInt8?
        let currentVersion: UInt8?
        let upgradeVersion: UInt8?
        let failedAttempts: UInt8?
        let maxFailedAttempts: UInt8?
        let ctrByte: UInt8?
        let ctrLookAhead: UInt8?
        let ctrDataHash: Bytes?
        let ctrDataHashMatchesClient: Bool?
        let serverAheadOfClientBy: Int?
        let mobileSdkCounterState: String?
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "status-blob"))
    func theClientReadsWhatTheServerWrites(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        let transportKey = input.transportKey.secret
        if let iv = output.iv {
            let vector = try ActivationStatusBlob.initializationVector(
                transportKey: transportKey,
                challenge: input.challenge.bytes,
                nonce: input.nonce.bytes
            )
            #expect(vector == iv.bytes)
        }
        guard output.valid else {
            let expected = input.encryptedStatusBlob.bytes.count == 32 ? ActivationStatusError.notABlob : .invalidLength
            #expect(throws: expected) { try self.blob(of: input) }
            return
        }
        guard output.currentVersion == ActivationStatusBlob.version3 else {
            return try self.expectRefusal(of: vector)
        }
        let blob = try self.blob(of: input)
        #expect(blob.bytes == output.statusBlob?.bytes)
        #expect(blob.state.rawValue == output.activationStatus)
        #expect(blob.currentVersion == output.currentVersion)
        #expect(blob.upgradeVersion == output.upgradeVersion)
        #expect(blob.failedAttempts == output.failedAttempts)
        #expect(blob.maxFailedAttempts == output.maxFailedAttempts)
        #expect(blob.counterByte == output.ctrByte)
        #expect(blob.lookAhead == output.ctrLookAhead)
        #expect(blob.counterHash == output.ctrDataHash?.bytes)
        let written = try blob.encrypted(
            transportKey: transportKey,
            challenge: input.challenge.bytes,
            nonce: input.nonce.bytes
        )
        #expect(written == input.encryptedStatusBlob.bytes)
        let serverCounter = HashCounter(data: input.serverCtrData.secret)
        #expect(try serverCounter.hash(transportKey: transportKey) == blob.counterHash)
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "status-blob"))
    func theClientKnowsWhatToDoAboutItsCounter(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        guard output.valid else { return }
        guard output.currentVersion == ActivationStatusBlob.version3 else {
            return try self.expectRefusal(of: vector)
        }
        let client = HashCounter(data: input.clientCtrData.secret, byte: input.clientCtrByte)
        let blob = try self.blob(of: input)
        let transportKey = input.transportKey.secret
        let matches = try client.hash(transportKey: transportKey) == blob.counterHash
        #expect(matches == output.ctrDataHashMatchesClient)
        let result = try CounterSynchronization(
            client: client,
            status: blob,
            key: HashCounter.hashKey(transportKey: transportKey)
        )
        #expect(result.window == output.ctrLookAhead.map(Int.init))
        switch output.mobileSdkCounterState {
        case "OK":
            #expect(result.outcome == .inSync)
        case "UPDATED":
            let steps = try #require(output.serverAheadOfClientBy)
            let moved = HashCounter(data: input.serverCtrData.secret, byte: blob.counterByte)
            #expect(result.outcome == .movedForward(steps, moved))
            #expect(result.distance == -steps)
        case "CALCULATE_SIGNATURE":
            #expect(result.outcome == .signatureRecommended)
            #expect(client.byte &- UInt8(result.distance) == blob.counterByte)
        case "INVALID":
            #expect(result.outcome == .deadlock)
        default:
            Issue.record("unknown state \(output.mobileSdkCounterState ?? "null")")
        }
    }

    /// Activations of version 2 count without hashes, and this client speaks with none of them.
    private func expectRefusal(of vector: Vector<Input, Output>) throws {
        let version = try #require(vector.output.currentVersion)
        #expect(throws: ActivationStatusError.unsupportedVersion(version)) { try self.blob(of: vector.input) }
    }

    private func blob(of input: Input) throws -> ActivationStatusBlob {
        try ActivationStatusBlob(
            decrypting: input.encryptedStatusBlob.bytes,
            transportKey: input.transportKey.secret,
            challenge: input.challenge.bytes,
            nonce: input.nonce.bytes
        )
    }
}
