import MobileTokenObserving

/// The explanation of a refused signature, by the status after it.
struct RefusalFinding {
    /// Indicates that the counter value was the reason, so that another one may be accepted.
    let isOfCounter: Bool
    /// Indicates that the server followed and counted no failure, so the code was not the reason.
    let isFollowed: Bool
    let error: MobileTokenError
}

/// The remaining repairs for one signed exchange. Each is made once, except status requests.
struct ExchangeRepairs {
    private(set) var maySynchronize = true
    private(set) var mayRenewKey = true
    private var mayConfirm = true
    private var settlementsLeft = 3

    /// - Throws: `activationNotConfirmed` if the activation awaits a second confirmation.
    mutating func confirm() throws(MobileTokenError) {
        guard self.mayConfirm else { throw .activationNotConfirmed }
        self.mayConfirm = false
    }

    /// Consumes one status request before a signature.
    ///
    /// - Throws: `storeBusy` if other signatures moved the counter after each of the last ones. Nothing was signed.
    mutating func settle() throws(MobileTokenError) {
        guard self.settlementsLeft > 0 else {
            throw MobileTokenError(.storeBusy, "Other signatures move the counter again and again")
        }
        self.settlementsLeft -= 1
    }

    mutating func synchronize() { self.maySynchronize = false }

    mutating func renewKey() { self.mayRenewKey = false }

    /// Chooses the repair after a refusal: another counter value, or another temporary key. Servers refuse an undecryptable
    /// envelope like a wrong code. Only the counter tells the two apart.
    ///
    /// - Parameter call: The kind of an encrypted request; `nil` for plaintext.
    /// - Returns: The reason for another attempt; `nil` if there is none.
    mutating func choose(after finding: RefusalFinding, of call: EncryptedCall?) -> MobileTokenObservation.RetryReason?
    {
        // The code covers the plaintext, which the server may not have seen: another attempt could count another failure.
        guard call != .signedContent else { return nil }
        let renews = call == .signedEnvelope && finding.isFollowed && self.mayRenewKey
        let synchronizes = finding.isOfCounter && self.maySynchronize
        if renews { self.renewKey() }
        if synchronizes { self.synchronize() }
        return synchronizes ? .counterMoved : renews ? .temporaryKeyRenewed : nil
    }
}

extension MobileTokenError {
    /// Returns the error of a refusal without proof of wrong factors.
    func unproven(_ seen: String) -> Self {
        var error = Self(
            .refusalUnproven,
            "The server refused the request, \(seen): nothing shows that a password is wrong",
            httpStatus: self.httpStatus,
            serverCode: self.serverCode,
            retryAfter: self.retryAfter,
            underlying: self
        )
        error.effect = self.effect
        return error
    }
}
