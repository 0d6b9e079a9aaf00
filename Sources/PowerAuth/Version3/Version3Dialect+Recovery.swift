import PowerAuthProtocol

/// Recovery codes, which versions after 3 do not have.
extension Version3Dialect {
    func confirmRecoveryCode(
        _ code: String,
        of activation: Activation,
        with authentication: Authentication
    ) async throws -> Bool {
        let path = "/pa/v3/recovery/confirm"
        let plaintext = try Wire.encode(RecoveryConfirmation(recoveryCode: code))
        return try await activation.send(with: authentication, in: self) { keys in
            SignedRequest(path: path, uriID: "/pa/recovery/confirm", keys: keys) {
                try await self.keys.encrypt(plaintext, for: .recoveryConfirm)
            }
        } receive: { response in
            try Wire.decode(RecoveryConfirmed.self, from: response, of: path).alreadyConfirmed
        }
    }

    private struct RecoveryConfirmation: Encodable { let recoveryCode: String }
    private struct RecoveryConfirmed: Decodable { let alreadyConfirmed: Bool }
}
