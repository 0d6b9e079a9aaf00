internal import PowerAuthCrypto
internal import PowerAuthProtocol

/// The rotating code that shows that device and screen are in one place.
extension Backend {
    package func proximityCode(seed: ExportableSecret, at now: Milliseconds) -> String {
        self.proximityTOTP(seed).code(at: now / 1000)
    }

    /// Whether it is the code of this step or of the one before.
    func isProximityCode(_ code: String?, seed: ExportableSecret, at now: Milliseconds) -> Bool {
        guard let code else { return false }
        return self.proximityTOTP(seed).isValid(code, at: now / 1000, pastSteps: 1)
    }

    func acceptableProximityCodes(seed: ExportableSecret, at now: Milliseconds) -> [String] {
        let (seconds, step) = (now / 1000, self.limits.proximityCodeStep.inMilliseconds / 1000)
        return [seconds, seconds - step].map { self.proximityTOTP(seed).code(at: $0) }
    }

    private func proximityTOTP(_ seed: ExportableSecret) -> TOTP {
        TOTP(secret: seed.secret, digits: 8, step: max(1, self.limits.proximityCodeStep.inMilliseconds / 1000))
    }
}
