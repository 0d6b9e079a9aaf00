import Basics
public import PowerAuthClient
public import PowerAuthCrypto

extension Activation {
    /// A password change that has begun: the server has confirmed the old password. Holds it until the last copy is released.
    public struct PasswordChange: Sendable {
        fileprivate let activationID: String
        fileprivate let old: SecretBytes
    }
}

extension Activation {
    /// Begins a password change: the server confirms the old password now, and the new one follows later.
    ///
    /// ```swift
    /// let change = try await activation.beginPasswordChange(from: old)
    /// let new = await askForNewPassword()
    /// try await activation.finishPasswordChange(change, to: new)
    /// ```
    ///
    /// Nothing is changed yet, and an unfinished change does no harm.
    ///
    /// - Throws: ``MobileTokenError/Code/authenticationFailed`` for a wrong password, which counts as a failed attempt.
    public func beginPasswordChange(from old: SecretBytes) async throws -> Activation.PasswordChange {
        try await self.validate(.possessionAndKnowledge(password: old))
        return Activation.PasswordChange(activationID: self.activationID, old: old)
    }

    /// Finishes a password change with the old password that `change` holds.
    ///
    /// The server confirms the old password again, as in ``changePassword(from:to:)``. If it was changed meanwhile, this fails
    /// and changes nothing. After a connection failure the call may be repeated.
    public func finishPasswordChange(_ change: Activation.PasswordChange, to new: SecretBytes) async throws {
        guard change.activationID.isExactly(self.activationID) else {
            throw MobileTokenError(.invalidAuthentication, "The change was begun for another activation")
        }
        try await self.changePassword(from: change.old, to: new)
    }
}
