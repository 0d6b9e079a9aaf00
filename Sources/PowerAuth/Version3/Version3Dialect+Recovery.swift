import PowerAuthProtocol

/// Recovery codes, which versions after 3 do not have.
extension Version3Dialect {
    func confirmRecoveryCode(
        _ code: String,
        of activation: Activation,
        with authentication: Authentication
    ) async throws -> Bool {
        let request = try EndpointRequest(.recoveryConfirm, RecoveryConfirmation(recoveryCode: code))
        let path = try request.endpoint.path(in: self.version)
        return try await activation.send(with: authentication, in: self) { keys in
            try SignedRequest(request, keys: keys)
        } receive: { response in
            try Wire.decode(RecoveryConfirmed.self, from: response, of: path).alreadyConfirmed
        }
    }

    private struct RecoveryConfirmation: Encodable { let recoveryCode: String }
    private struct RecoveryConfirmed: Decodable { let alreadyConfirmed: Bool }
}
