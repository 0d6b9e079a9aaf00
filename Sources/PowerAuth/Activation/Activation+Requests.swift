public import ExactJSON
import Foundation
import HTTPClientTransport
import PowerAuthProtocol

extension Activation {
    /// Posts a JSON body to a path below the base URL, for requests that the application builds by itself.
    ///
    /// - Returns: A response below 400, undecoded. A refused token is renewed once.
    /// - Throws: ``MobileTokenError`` for every other response.
    public nonisolated func post(
        _ path: String,
        body: [UInt8],
        authentication: RequestAuthentication,
        acceptLanguage: String
    ) async throws -> ChannelResponse {
        let headers: HTTPHeaders = ["Accept-Language": acceptLanguage]
        switch authentication {
        case .token(let name):
            return try await self.postWithToken(name, path: path, headers: headers) { RequestBody(bytes: body) }
        case .signature(let uriID, let authentication):
            let request = SignedRequest(
                path: path,
                uriID: uriID,
                keys: try await self.signingKeys(for: authentication),
                headers: headers,
                decision: authentication.decision,
                body: { RequestBody(bytes: body) }
            )
            return try await self.send(request) { $0 }
        }
    }
}

extension Activation {
    /// Returns what the server says about the activation's user, such as claims from an identity provider.
    public func userInfo() async throws -> JSONValue {
        try self.checkNotRemoved()
        let path = "/pa/v3/user/info"
        let response = try await self.encryptionKeys.send(path) { key in
            try self.encryptionKeys.encrypt(Array("{}".utf8), for: .genericActivation, with: key)
        }
        return try response.read { bytes in
            try MobileTokenError.mapErrors(ofResponse: path) { try JSONValue(parsing: bytes) }
        }
    }

    /// Confirms a recovery code that was handed out on paper, so that it can be used.
    ///
    /// - Returns: Whether it was confirmed already.
    @discardableResult
    public func confirmRecoveryCode(_ code: String, with authentication: Authentication) async throws -> Bool {
        let path = "/pa/v3/recovery/confirm"
        let plaintext = try Wire.encode(RecoveryConfirmation(recoveryCode: code))
        let request = SignedRequest(
            path: path,
            uriID: "/pa/recovery/confirm",
            keys: try await self.signingKeys(for: authentication),
            body: { try await self.encryptionKeys.encrypt(plaintext, for: .recoveryConfirm) }
        )
        return try await self.send(request) { response in
            try Wire.decode(RecoveryConfirmed.self, from: response, of: path).alreadyConfirmed
        }
    }

    private struct RecoveryConfirmation: Encodable { let recoveryCode: String }
    private struct RecoveryConfirmed: Decodable { let alreadyConfirmed: Bool }
}
