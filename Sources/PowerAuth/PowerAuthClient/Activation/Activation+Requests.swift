extension Activation {
    /// Sends a request without parameters and proof, after adopting the stored record.
    package func ask(_ endpoint: ServerEndpoint) async throws -> (response: ServerResponse, path: String) {
        try self.checkNotRemoved()
        try await self.waitForUpgrade()
        try self.adopt(try await self.storedRecord())
        let version = self.dialect.version
        let path = try endpoint.path(in: version)
        return (try await self.send(EndpointRequest(endpoint, in: version)), path)
    }

    /// Confirms a recovery code.
    ///
    /// - Returns: `true` if it was confirmed already.
    package func confirmRecovery(code: String, with authentication: Authentication) async throws -> Bool {
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
