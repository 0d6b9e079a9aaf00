package import APIDescriptions
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

        /// The stage at which the one-time password is checked.
        package enum OTPValidation: String, Sendable, CaseIterable {
            case none = "NONE"
            case onKeyExchange = "ON_KEY_EXCHANGE"
            case onCommit = "ON_COMMIT"
        }

        /// The step that activates a registration, besides the key exchange.
        package enum CommitPhase: String, Sendable, Codable, CaseIterable {
            /// The server's commit after verifying the user.
            case onCommit = "ON_COMMIT"
            /// No further step.
            case onKeyExchange = "ON_KEY_EXCHANGE"
        }

        /// The user of the device.
        public var userID: String
        /// The application, if the credentials do not determine it.
        public var applicationID: String?
        package var givenFlags: [String]?
        /// A secret code that the user must enter besides the activation code. Default: none.
        public var otp: String?
        package var activationOTP: String?
        package var otpValidation: OTPValidation?
        package var activationOTPValidation: OTPValidation?
        package var commitPhase: CommitPhase?
        /// Since 1970.
        package var expiresMilliseconds: Int64?
        package var protocolVersion: String?

        /// The flags of the activation. Default: none.
        public var flags: [String] {
            get { self.givenFlags ?? [] }
            set { self.givenFlags = newValue.isEmpty ? nil : newValue }
        }
        /// The step that checks the code. Default: the server's.
        public var otpStep: Step? {
            get { self.otpValidation.flatMap { $0 == .none ? nil : $0 == .onCommit ? .commit : .keyExchange } }
            set { self.otpValidation = newValue.map { $0 == .commit ? .onCommit : .onKeyExchange } }
        }
        /// The step that activates the registration. Default: the server's.
        public var activatingStep: Step? {
            get { self.commitPhase.map { $0 == .onCommit ? .commit : .keyExchange } }
            set { self.commitPhase = newValue.map { $0 == .commit ? .onCommit : .onKeyExchange } }
        }
        /// The deadline for using the activation code, in milliseconds. Default: the server's.
        public var expires: Date? {
            get { self.expiresMilliseconds.map(Date.init(milliseconds:)) }
            set { self.expiresMilliseconds = newValue?.milliseconds }
        }

        /// The name of the type only.
        public var description: String { "NewRegistration" }
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
        init?(_ registration: Registration) {
            guard let code = registration.activationCode, let qrCode = registration.activationQRCode else { return nil }
            (self.id, self.activationCode, self.activationQRCode) = (registration.id, code, qrCode)
        }

        /// The name of the type only.
        public var description: String { "ActivationOffer" }
    }
}

extension CloudClient.NewRegistration: Described {
    package static let fields = FieldTable(
        "NewRegistration",
        Self.init,
        .required("userId", \.userID, .word(upTo: 255), "The user whose device it will be."),
        .optional("appId", \.applicationID, .string, "The application; the server's own if left out."),
        .optional("flags", \.givenFlags, .list(of: .string)),
        .optional("otp", \.otp, .string, "A code that the user must know beside the activation code."),
        .optional("activationOtp", \.activationOTP, .string, "Another name of otp.").ours,
        .optional("otpValidation", \.otpValidation, .cases(), "The step in which the code is checked."),
        .optional("activationOtpValidation", \.activationOTPValidation, .cases(), "Another name of otpValidation.")
            .ours,
        .optional(
            "commitPhase",
            \.commitPhase,
            .cases(),
            "The step that commits the registration: a call of the server side, or the exchange of keys."
        ),
        .optional(
            "timestampRegistrationExpire",
            \.expiresMilliseconds,
            .timestamp,
            "The time until which the activation code can be used."
        ),
        .optional(
            "protocolVersion",
            \.protocolVersion,
            .protocolVersion,
            "The version whose master key signs the QR code."
        ).ours
    ).tolerant
}

extension CloudClient.NewRegistration {
    /// Creates a registration for a user.
    public init(userID: String) { self.userID = userID }
}
