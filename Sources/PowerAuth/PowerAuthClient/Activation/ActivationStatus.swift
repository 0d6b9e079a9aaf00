package import ExactJSON
public import Foundation
public import MobileTokenObserving
public import PowerAuthProtocol

/// The activation's state at the server, with the comparison of both counters.
public struct ActivationStatus: Sendable {
    /// The state of the activation.
    public let state: ActivationState
    /// Refused signatures since the last accepted one.
    public let failedAttempts: Int
    /// The number of refused signatures that blocks the activation.
    package let maximumFailedAttempts: Int
    /// The result of the counter comparison, including repairs.
    public let counter: CounterComparison
    /// The server's custom data about the activation.
    package let customData: JSONValue?
    /// Indicates whether the server offers an upgrade to version 4; see `Activation.upgrade` of `PowerAuth`.
    public var isUpgradeOffered = false
    /// Further facts about the activation; empty before version 4.
    package var flags: Flags = []
    /// When a temporary block ends.
    public var blockedUntil: Date?
    /// The number of consecutive signatures that the server neither accepted nor counted as failures. From ten on, signatures
    /// throw ``MobileTokenError/Code/signaturesAreLost``.
    public var lostSignatures = 0

    package init(
        state: ActivationState,
        failedAttempts: Int,
        maximumFailedAttempts: Int,
        counter: CounterComparison,
        customObject: JSONValue? = nil
    ) {
        self.state = state
        self.failedAttempts = failedAttempts
        self.maximumFailedAttempts = maximumFailedAttempts
        self.counter = counter
        self.customData = customObject
    }

    /// The number of further refusals before the activation is blocked.
    public var remainingAttempts: Int { max(0, self.maximumFailedAttempts - self.failedAttempts) }
}

extension ActivationStatus {
    /// Further facts about a version 4 activation.
    package struct Flags: OptionSet, Sendable, Hashable {
        /// The bits as sent by the server.
        package let rawValue: UInt8

        /// Creates flags from their bits.
        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The activation awaits confirmation.
        package static let awaitsConfirmation = Self(rawValue: 1 << 0)
        /// An upgrade awaits confirmation.
        package static let upgradeAwaitsConfirmation = Self(rawValue: 1 << 1)
        /// The server no longer supports the activation's suite.
        package static let suiteUnsupported = Self(rawValue: 1 << 2)
        /// The biometry factor is set up.
        package static let biometryIsOn = Self(rawValue: 1 << 3)
    }
}

extension ActivationStatus.Flags {
    /// The names of the flags.
    package var names: [String] {
        let names: [(Self, String)] = [
            (.awaitsConfirmation, "awaitsConfirmation"), (.upgradeAwaitsConfirmation, "upgradeAwaitsConfirmation"),
            (.suiteUnsupported, "suiteUnsupported"), (.biometryIsOn, "biometryIsOn"),
        ]
        return names.filter { self.contains($0.0) }.map(\.1)
    }
}
