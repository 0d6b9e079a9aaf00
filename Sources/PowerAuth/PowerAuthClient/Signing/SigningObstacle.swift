/// An internal reason to postpone a signature, found when the counter is about to move.
protocol SigningObstacle: Error {}

/// The keys are outdated: the activation was upgraded, or the password changed.
struct OutdatedDialect: SigningObstacle {}

/// The call is valid in one version only, and the activation has been upgraded.
struct UpgradedMeanwhile: SigningObstacle {}

/// The server accepts nothing before a pending confirmation.
struct AwaitingConfirmation: SigningObstacle {
    enum Step: Sendable {
        case activation
        case upgrade
    }

    let step: Step
}

extension MobileTokenError {
    static var activationNotConfirmed: Self {
        Self(.activationNotConfirmed, "The activation was never confirmed; call confirm(password:) first")
    }
}
