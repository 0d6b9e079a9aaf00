import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@Suite(.vectors4("status-blob"))
struct StatusBlobVectors4 {
    struct Input: Decodable {
        let activationSecret: Bytes
        let blob: Bytes
        let localCtrData: Bytes?
        let localCtrByte: UInt8?
        let serverCtrData: Bytes?
    }

    struct Output: Decodable {
        let accepted: Bool?
        let status: UInt8?
        let currentVersion: UInt8?
        let upgradeVersion: UInt8?
        let flags: UInt8?
        let ctrByte: UInt8?
        let failCount: UInt8?
        let maxFailCount: UInt8?
        let lookAhead: UInt8?
        let ctrDataHash: Bytes?
        let synchronization: String?
        let ctrData: Bytes?
        let ctrByteAfter: UInt8?
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "status-blob", of: .version4))
    func statusAndCounter(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        let keys = try Version4.ActivationKeys(activationSecret: input.activationSecret.secret).utility
        let read = { () throws(ActivationStatusError) in
            try ActivationStatusBlob(input.blob.bytes, key: keys.status)
        }
        if output.accepted == false {
            #expect(throws: ActivationStatusError.self) { try read() }
            return
        }
        let blob = try read()
        #expect(blob.state.rawValue == output.status)
        #expect(blob.currentVersion == output.currentVersion)
        #expect(blob.upgradeVersion == output.upgradeVersion)
        #expect(blob.flags.rawValue == output.flags)
        #expect(blob.counterByte == output.ctrByte)
        #expect(blob.failedAttempts == output.failCount)
        #expect(blob.maxFailedAttempts == output.maxFailCount)
        #expect(blob.lookAhead == output.lookAhead)
        #expect(blob.counterHash == output.ctrDataHash?.bytes)
        #expect(try blob.bytes(key: keys.status) == input.blob.bytes)
        if let serverCounter = input.serverCtrData {
            let hash = try Version4.HashCounter(data: serverCounter.secret).hash(key: keys.counterHash)
            #expect(hash == blob.counterHash)
        }
        try self.checkSynchronization(vector, blob, key: keys.counterHash)
    }

    private func checkSynchronization(
        _ vector: Vector<Input, Output>,
        _ blob: ActivationStatusBlob,
        key: SecretBytes
    ) throws {
        let (input, output) = (vector.input, vector.output)
        let client = Version4.HashCounter(
            data: try #require(input.localCtrData).secret,
            byte: try #require(input.localCtrByte)
        )
        let outcome = try CounterSynchronization(client: client, status: blob, key: key).outcome
        var after = client
        switch output.synchronization {
        case "ok": #expect(outcome == .inSync)
        case "calculate": #expect(outcome == .signatureRecommended)
        case "deadlock": #expect(outcome == .deadlock)
        case "updated":
            guard case .movedForward(_, let moved) = outcome else {
                Issue.record("not moved but \(outcome)")
                return
            }
            after = moved
        default: Issue.record("unknown outcome \(output.synchronization ?? "null")")
        }
        #expect(after.data == output.ctrData?.secret)
        #expect(after.byte == output.ctrByteAfter)
    }
}
