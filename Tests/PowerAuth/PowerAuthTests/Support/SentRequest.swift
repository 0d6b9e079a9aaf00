import HTTPClientTransport
import PowerAuth
import TestSupport
import Testing

/// A signed request as the network saw it, and what is needed to compute its code anew.
struct SentRequest {
    let request: HTTPRequest
    let record: ActivationRecord
    let secret: ApplicationSecret

    var body: [UInt8] { self.request.body ?? [] }

    /// Returns whether the code's first component, which is that of possession, covers `body`.
    func covers(_ body: [UInt8], uriID: String) throws -> Bool {
        let value = self.request.headers[SignatureHeader.name]
        return switch (self.record.keys, self.record.counter) {
        case (.version3(let keys), .version3(let counter)):
            try self.covers(body, uriID, try SignatureHeader(parsing: value), keys, counter)
        case (.version4(let keys), .version4(let counter)):
            try self.covers(body, uriID, try Version4.AuthenticationHeader(parsing: value), keys, counter)
        default: false
        }
    }

    private func covers(
        _ body: [UInt8],
        _ uriID: String,
        _ header: SignatureHeader,
        _ keys: Version3Keys,
        _ counter: HashCounter
    ) throws -> Bool {
        let data = SignatureData(method: "POST", uriID: uriID, nonce: header.nonce, body: body)
        return [counter, counter.next()].contains { counter in
            let signature = RequestSignature(
                data,
                keys: [keys.possessionKey],
                counter: counter,
                secret: .online(self.secret)
            )
            return header.signature.starts(with: signature.onlineBytes)
        }
    }

    private func covers(
        _ body: [UInt8],
        _ uriID: String,
        _ header: Version4.AuthenticationHeader,
        _ keys: Version4Keys,
        _ counter: Version4.HashCounter
    ) throws -> Bool {
        let data = SignatureData(method: "POST", uriID: uriID, nonce: header.nonce, body: body)
        return try [counter, counter.next()].contains { counter in
            let code = try Version4.AuthenticationCode(
                data,
                keys: [keys.possessionKey],
                counter: counter,
                secret: .online(self.secret)
            )
            return header.code.starts(with: code.onlineBytes)
        }
    }
}

extension VerifyingServer {
    /// Runs `body`, which makes a request to `path` that is refused on its way, and returns that request.
    func capturing(
        _ path: String,
        of activation: Activation,
        _ body: () async throws -> Void
    ) async throws -> SentRequest {
        let record = try await activation.storedRecord()
        let sent = Shared<HTTPRequest?>(nil)
        self.setFate { request in
            guard request.url.hasSuffix(path) else { return .delivered }
            sent.value = request
            return .answered(.refusal(400, "INVALID_REQUEST"))
        }
        await #expect(throws: MobileTokenError.self) { try await body() }
        self.setFate { _ in .delivered }
        return SentRequest(
            request: try #require(sent.value),
            record: record,
            secret: self.configuration.applicationSecret
        )
    }
}

extension HTTPResponse {
    static func refusal(_ status: Int, _ code: String) -> Self {
        let body = #"{"status":"ERROR","responseObject":{"code":"\#(code)","message":"no"}}"#
        return Self(status: status, body: Array(body.utf8))
    }
}
