import Foundation
import PowerAuthCrypto
import PowerAuthProtocol

/// The answer to a question for the status of an activation of ``StoredActivations``, all of which have one counter
/// and one transport key. Without an answer that can be read, a fleet asks again before its polls.
struct StatusAnswer {
    static let counter = HashCounter(data: SecretBytes(copying: (0..<16).map { UInt8($0) }))
    static let transportKey = SecretBytes(copying: (16..<32).map { UInt8($0) })

    private static let start = Array("POST /pa/v3/activation/status ".utf8)
    private let nonce = [UInt8](repeating: 7, count: 16)
    private let counterHash: [UInt8]

    init() throws {
        self.counterHash = try Self.counter.hash(transportKey: Self.transportKey)
    }

    /// Returns the whole answer; `nil` of another request.
    func answer(to request: some Sequence<UInt8>) throws -> [UInt8]? {
        guard request.starts(with: Self.start) else { return nil }
        let text = String(decoding: Array(request), as: UTF8.self)
        guard let id = Self.member("activationId", of: text),
            let challenge = Self.member("challenge", of: text).flatMap({ Data(base64Encoded: $0) })
        else { return nil }
        let blob = ActivationStatusBlob(
            state: .active,
            currentVersion: ActivationStatusBlob.version3,
            counterByte: Self.counter.byte,
            failedAttempts: 0,
            maxFailedAttempts: 5,
            lookAhead: 20,
            counterHash: self.counterHash
        )
        let encrypted = try blob.encrypted(
            transportKey: Self.transportKey,
            challenge: [UInt8](challenge),
            nonce: self.nonce
        )
        func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }
        return StaticServer.answer(
            (#"{"status":"OK","responseObject":{"activationId":"\#(id)","encryptedStatusBlob":"\#(base64(encrypted))","#
                + #""nonce":"\#(base64(self.nonce))"}}"#).utf8
        )
    }

    private static func member(_ name: String, of text: String) -> String? {
        guard let start = text.range(of: "\"\(name)\":\"")?.upperBound,
            let end = text[start...].firstIndex(of: "\"")
        else { return nil }
        return text[start..<end].replacingOccurrences(of: "\\/", with: "/")
    }
}
