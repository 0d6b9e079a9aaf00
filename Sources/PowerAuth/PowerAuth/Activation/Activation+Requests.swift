public import ExactJSON
import Foundation
import HTTPClientTransport
import PowerAuthProtocol

extension Activation {
    /// Posts a JSON body to a path below the base URL, for requests that the application builds itself.
    ///
    /// - Parameter decision: The decision that the request makes; `nil` for a request of the application's own.
    /// - Returns: An undecoded response with a status below 400. A refused token is renewed once.
    /// - Throws: ``MobileTokenError`` for every other response.
    public nonisolated func post(
        _ path: String,
        body: [UInt8],
        authentication: RequestAuthentication,
        acceptLanguage: String,
        decision: DecisionIntent?
    ) async throws -> ChannelResponse {
        let proof: ServerEndpoint.Proof
        let factors: Authentication
        switch authentication {
        case .token(let name): (proof, factors) = (.token(name: name, .possession), .possession)
        case .signature(let uriID, let authentication): (proof, factors) = (.code(uriID: uriID, .any), authentication)
        }
        return try await self.send(
            EndpointRequest(ServerEndpoint(.path(path), proof), body: body),
            headers: ["Accept-Language": acceptLanguage],
            with: factors,
            deciding: decision
        )
    }
}

extension Activation {
    /// Returns the server's data about the activation's user, such as claims from an identity provider.
    public func userInfo() async throws -> JSONValue {
        let (response, path) = try await self.ask(.userInfo)
        return try response.read { bytes in
            try MobileTokenError.mapErrors(ofResponse: path) { try JSONValue(parsing: bytes) }
        }
    }

    /// Sends a request without parameters and proof, after adopting the stored record.
    func ask(_ endpoint: ServerEndpoint) async throws -> (response: ChannelResponse, path: String) {
        try self.checkNotRemoved()
        try await self.waitForUpgrade()
        try self.adopt(try await self.storedRecord())
        let version = self.dialect.version
        let path = try endpoint.path(in: version)
        return (try await self.send(EndpointRequest(endpoint, in: version)), path)
    }

    /// Confirms a recovery code that was handed out on paper, so that it can be used. Protocol version 3 only.
    ///
    /// - Returns: `true` if it was confirmed already.
    @discardableResult
    public func confirmRecoveryCode(_ code: String, with authentication: Authentication) async throws -> Bool {
        try TextRule.check(code, of: "code")
        return try await self.withStoredDialect { dialect in
            let request = try EndpointRequest(.recoveryConfirm, RecoveryConfirmation(recoveryCode: code))
            let path = try request.endpoint.path(in: dialect.version)
            return try await self.send(with: authentication, in: dialect) { keys in
                try SignedRequest(request, keys: keys)
            } receive: { response, _ in
                try Wire.decode(RecoveryConfirmed.self, from: response, of: path).alreadyConfirmed
            }
        }
    }

    private struct RecoveryConfirmation: Encodable { let recoveryCode: String }
    private struct RecoveryConfirmed: Decodable { let alreadyConfirmed: Bool }
}
