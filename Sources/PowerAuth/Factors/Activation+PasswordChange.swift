import Basics
public import PowerAuthCrypto

extension Activation {
    /// A change of the password that has begun: the server has confirmed the old one, and the new one is still to come.
    ///
    /// Holds the old password, which is wiped when the last copy goes.
    public struct PasswordChange: Sendable {
        fileprivate let activationID: String
        fileprivate let old: SecretBytes
    }
}

extension Activation {
    /// Begins to change the password, where the old one is asked for first and the new one later: the server confirms the old one
    /// now.
    ///
    /// ```swift
    /// let change = try await activation.beginPasswordChange(from: old)
    /// let new = await askForNewPassword()
    /// try await activation.finishPasswordChange(change, to: new)
    /// ```
    ///
    /// Nothing is changed yet, and a change that is never finished does no harm.
    ///
    /// - Throws: ``MobileTokenError/Code/authenticationFailed`` when it is not the password; that counts as a failed attempt.
    public func beginPasswordChange(from old: SecretBytes) async throws -> Activation.PasswordChange {
        try await self.validate(.possessionAndKnowledge(password: old))
        return Activation.PasswordChange(activationID: self.activationID, old: old)
    }

    /// Finishes a change of the password, without asking for the old one again.
    ///
    /// The server confirms it once more, in the same way as with ``changePassword(from:to:)``: it may have been changed meanwhile,
    /// here or by another process, and then this fails and changes nothing. A change that failed for want of a connection can be
    /// finished again.
    public func finishPasswordChange(_ change: Activation.PasswordChange, to new: SecretBytes) async throws {
        guard change.activationID.isExactly(self.activationID) else {
            throw MobileTokenError(.invalidAuthentication, "The change was begun for another activation")
        }
        try await self.changePassword(from: change.old, to: new)
    }
}
