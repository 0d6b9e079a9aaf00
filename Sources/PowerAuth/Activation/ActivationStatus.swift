public import ExactJSON
public import Foundation
public import PowerAuthProtocol

/// An activation as the server sees it, and how the counters of both sides compare.
public struct ActivationStatus: Sendable {
    /// The state of the activation in its life.
    public let state: ActivationState
    /// Signatures refused since the last accepted one.
    public let failedAttempts: Int
    /// This many refused signatures block the activation.
    public let maximumFailedAttempts: Int
    /// The comparison of the counters, and what was done about it.
    public let counter: ActivationStatus.CounterComparison
    /// The server's own data about the activation.
    public let customObject: JSONValue?
    /// Indicates whether the server offers to upgrade the activation to version 4 of the protocol; see
    /// ``Activation/upgrade(password:biometryKey:suite:)``.
    public var isUpgradeOffered = false
    /// The facts beside the state; empty before version 4.
    public var flags: Flags = []
    /// The time when a block that is temporary ends.
    public var blockedUntil: Date?

    package init(
        state: ActivationState,
        failedAttempts: Int,
        maximumFailedAttempts: Int,
        counter: ActivationStatus.CounterComparison,
        customObject: JSONValue? = nil
    ) {
        self.state = state
        self.failedAttempts = failedAttempts
        self.maximumFailedAttempts = maximumFailedAttempts
        self.counter = counter
        self.customObject = customObject
    }

    /// The number of signatures that may still be refused before the activation is blocked.
    public var remainingAttempts: Int { max(0, self.maximumFailedAttempts - self.failedAttempts) }
}

extension ActivationStatus {
    /// Facts about an activation of version 4 beside its state.
    public struct Flags: OptionSet, Sendable, Hashable {
        /// The bits, as the server sends them.
        public let rawValue: UInt8

        /// Creates flags from their bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The activation waits for its confirmation.
        public static let awaitsConfirmation = Self(rawValue: 1 << 0)
        /// An upgrade waits for its confirmation.
        public static let upgradeAwaitsConfirmation = Self(rawValue: 1 << 1)
        /// The server no longer supports the activation's suite.
        public static let suiteUnsupported = Self(rawValue: 1 << 2)
        /// The biometry factor is set up.
        public static let biometryIsOn = Self(rawValue: 1 << 3)
    }
}

extension ActivationStatus.Flags: CustomStringConvertible {
    /// The names of the flags, such as `awaitsConfirmation, biometryIsOn`.
    public var description: String { self.names.joined(separator: ", ") }

    /// The names of the flags.
    public var names: [String] {
        let names: [(Self, String)] = [
            (.awaitsConfirmation, "awaitsConfirmation"), (.upgradeAwaitsConfirmation, "upgradeAwaitsConfirmation"),
            (.suiteUnsupported, "suiteUnsupported"), (.biometryIsOn, "biometryIsOn"),
        ]
        return names.filter { self.contains($0.0) }.map(\.1)
    }
}
