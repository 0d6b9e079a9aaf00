/// An operation's proximity code: it changes with time, and proves that device and screen are in one place.
package struct RotatingCode {
    private let code: TOTP
    private let step: Milliseconds

    fileprivate init(seed: ExportableSecret, step: Milliseconds) {
        self.code = TOTP(secret: seed.secret, digits: 8, step: step / 1000)
        self.step = step
    }

    /// Returns the current code.
    package func string(at now: Milliseconds) -> String { self.code.code(at: now / 1000) }

    /// Returns the accepted codes: the current and the previous one.
    func accepted(at now: Milliseconds) -> [String] { [self.string(at: now), self.string(at: now - self.step)] }

    func accepts(_ code: String?, at now: Milliseconds) -> Bool {
        code.map { self.code.isValid($0, at: now / 1000, pastSteps: 1) } ?? false
    }
}

extension Backend {
    /// Returns the code that an approval must carry; `nil` if none is required.
    package func proximityCode(of operation: ServerOperation) -> RotatingCode? {
        let step = max(1000, self.limits.proximityCodeStep.inMilliseconds)
        return operation.proximitySeed.map { RotatingCode(seed: $0, step: step) }
    }
}
