import CloudCalls
public import Foundation

extension CloudClient {
    /// A registration to create: the permission to register a user's device.
    public struct NewRegistration: Sendable, CustomStringConvertible {
        /// A step of a registration.
        public enum Step: Sendable, Hashable {
            /// The key exchange with the device.
            case keyExchange
            /// The commit by the server side.
            case commit
        }

        /// The user of the device.
        public var userID: String
        /// The flags of the activation. Default: none.
        public var flags: [String] = []
        /// A secret code that the user must enter besides the activation code. Default: none.
        public var otp: String?
        /// The step that checks the code. Default: the server's.
        public var otpStep: Step?
        /// The step that activates the registration. Default: the server's.
        public var activatingStep: Step?
        /// The deadline for using the activation code, in milliseconds. Default: the server's.
        public var expires: Date?
        /// The application, if the credentials do not determine it.
        public var applicationID: String?

        /// Creates a registration for a user.
        public init(userID: String) { self.userID = userID }

        /// The name of the type only.
        public var description: String { "NewRegistration" }

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

    /// The code for registering a user's device. The server accepts the first device that uses it.
    public struct ActivationOffer: Sendable, Identifiable, CustomStringConvertible {
        /// The identifier of the registration and of the later activation.
        public let id: String
        /// The code for typing. Secret.
        public let activationCode: String
        /// The content of the QR code: the code with its signature. Secret.
        public let activationQRCode: String

        /// - Returns: `nil` for a response without a code.
        init?(_ wire: CloudRegistration) {
            guard let code = wire.activationCode, let qrCode = wire.activationQRCode else { return nil }
            (self.id, self.activationCode, self.activationQRCode) = (wire.id, code, qrCode)
        }

        /// The name of the type only.
        public var description: String { "ActivationOffer" }
    }
}
