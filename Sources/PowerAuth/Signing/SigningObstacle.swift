/// A reason not to sign yet, found when the counter is about to be moved. Never seen by the caller.
protocol SigningObstacle: Error {}

/// The keys are not those of the record any more: the activation was upgraded, or the password changed.
struct OutdatedDialect: SigningObstacle {}

/// A call makes sense in one version only, and the activation is of another by now.
struct UpgradedMeanwhile: SigningObstacle {}

/// The server waits for a confirmation, before which it accepts nothing else.
struct AwaitingConfirmation: SigningObstacle {
    enum Step: Sendable {
        /// The activation was created.
        case activation
        /// The activation was upgraded.
        case upgrade
    }

    let step: Step
}

extension MobileTokenError {
    static var activationNotConfirmed: Self {
        Self(.activationNotConfirmed, "The activation was never confirmed; call confirm(password:) first")
    }
}
