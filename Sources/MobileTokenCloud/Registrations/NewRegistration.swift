import CloudCalls
public import Foundation

extension CloudClient {
    /// A registration to be created: the permission for a device to become a user's.
    public struct NewRegistration: Sendable, CustomStringConvertible, CustomReflectable {
        /// A step of a registration.
        public enum Step: Sendable, Hashable {
            /// The exchange of keys with the device.
            case keyExchange
            /// The commit by the server side.
            case commit
        }

        /// The user whose device it will be.
        public var userID: String
        /// The flags of the activation; none by default.
        public var flags: [String] = []
        /// A code that the user must know beside the activation code; none by default. Secret.
        public var otp: String?
        /// The step at which the code is checked; by default the server says it.
        public var otpStep: Step?
        /// The step that makes the registration active: by default the server says it.
        public var activatingStep: Step?
        /// The moment until which the activation code can be used, in milliseconds; by default the server says it.
        public var expires: Date?
        /// The application, where the credentials do not say it.
        public var applicationID: String?

        /// Creates a registration for a user.
        public init(userID: String) { self.userID = userID }

        /// The name of the type alone.
        public var description: String { "NewRegistration" }
        /// Empty, so that `dump` reveals no code.
        public var customMirror: Mirror { Mirror(self, children: []) }

        var wire: NewCloudRegistration {
            var wire = NewCloudRegistration(userID: self.userID)
            wire.flags = self.flags.isEmpty ? nil : self.flags
            wire.otp = self.otp
            wire.otpValidation = self.otpStep.map { $0 == .commit ? .onCommit : .onKeyExchange }
            wire.commitPhase = self.activatingStep.map { $0 == .commit ? .onCommit : .onKeyExchange }
            wire.expires = self.expires?.milliseconds
            wire.applicationID = self.applicationID
            return wire
        }
    }

    /// The code with which a device becomes a user's. Whoever has it first is that user to the server.
    public struct ActivationOffer: Sendable, Identifiable, CustomStringConvertible, CustomReflectable {
        /// The identifier of the registration, and later of the activation.
        public let id: String
        /// The code that the user types in. Secret.
        public let activationCode: String
        /// The content of the QR code: the code and its signature. Secret.
        public let activationQRCode: String

        /// - Returns: `nil` for an answer without a code.
        init?(_ wire: CloudRegistration) {
            guard let code = wire.activationCode, let qrCode = wire.activationQRCode else { return nil }
            (self.id, self.activationCode, self.activationQRCode) = (wire.id, code, qrCode)
        }

        /// The name of the type alone.
        public var description: String { "ActivationOffer" }
        /// Empty, so that `dump` reveals no code.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }
}
