package import APIDescriptions

extension CloudAPI {
    package static let listRegistrations = Self.endpoint(
        "GET /v2/registrations",
        isOurs: true,
        "Lists registrations.",
        takes: Call.query(RegistrationFilter.fields),
        gives: CloudRegistration.list
    )

    package static let register = Self.endpoint(
        "POST /v2/registrations",
        fills: true,
        "Registers a device for a user.",
        takes: Call.query(
            FieldTable<Bool>(
                "RegistrationCheck",
                .preset(
                    "incompleteStatusCheck",
                    \.self,
                    .boolean,
                    or: false,
                    "Refuses while another registration of the user waits for its device or its commit; `false` by default."
                )
            )
        ),
        Call.body(NewCloudRegistration.form),
        gives: CloudRegistration.form
    )

    package static let removeRegistration = Self.endpoint(
        "DELETE /v2/registrations/{id}",
        "Removes a registration.",
        takes: Call.segment("id"),
        gives: ChangedRegistration.form
    )

    package static let showRegistration = Self.endpoint(
        "GET /v2/registrations/{id}",
        "Shows a registration.",
        takes: Call.segment("id"),
        gives: CloudRegistration.form
    )

    package static let changeRegistration = Self.endpoint(
        "PUT /v2/registrations/{id}",
        "Blocks or unblocks a registration.",
        takes: Call.segment("id"),
        Call.body(
            FieldTable<RegistrationChange>("RegistrationChange", .required("change", \.self, .cases())).tolerant.form
        ),
        gives: ChangedRegistration.form
    )

    package static let commitRegistration = Self.endpoint(
        "POST /v2/registrations/{id}/commit",
        fills: true,
        "Lets a registration become active.",
        takes: Call.segment("id"),
        Call.body(RegistrationCommit.form, or: RegistrationCommit()),
        gives: ChangedRegistration.form
    )

    package static let removeFlags = Self.endpoint(
        "DELETE /v2/registrations/{id}/flags",
        isOurs: true,
        "Removes flags; all of them, when none are named.",
        takes: Call.segment("id"),
        Call.body(Self.flags.form, or: nil),
        gives: RegistrationFlags.form
    )

    package static let showFlags = Self.endpoint(
        "GET /v2/registrations/{id}/flags",
        isOurs: true,
        "Lists flags.",
        takes: Call.segment("id"),
        gives: RegistrationFlags.form
    )

    package static let addFlags = Self.endpoint(
        "POST /v2/registrations/{id}/flags",
        isOurs: true,
        fills: true,
        "Adds flags.",
        takes: Call.segment("id"),
        Call.body(Self.flags.form, or: nil),
        gives: RegistrationFlags.form
    )

    private static let flags = FieldTable<[String]?>("Flags", .optional("flags", \.self, .list(of: .string)))

    package struct RegistrationFilter: Described {
        package var userID: String?
        package var showsRemoved: Bool

        package static let fields = FieldTable(
            "RegistrationFilter",
            Self.init(userID:showsRemoved:),
            .optional("userId", \.userID, .word, "Lists those of this user only."),
            .preset(
                "removed",
                \.showsRemoved,
                .boolean,
                or: false,
                "Lists removed ones too; `false` by default."
            )
        )

        package init(userID: String?, showsRemoved: Bool) {
            (self.userID, self.showsRemoved) = (userID, showsRemoved)
        }
    }

    package enum RegistrationChange: String, Sendable, CaseIterable {
        case block = "BLOCK"
        case unblock = "UNBLOCK"
    }

    package struct RegistrationCommit: Described {
        package var externalUserID: String?
        package var otp: String?
        package var activationOTP: String?

        package static let fields = FieldTable(
            "RegistrationCommit",
            Self.init(externalUserID:otp:activationOTP:),
            .optional("externalUserId", \.externalUserID, .string),
            .optional("otp", \.otp, .string, "The code, where it is asked for at the commit."),
            .optional("activationOtp", \.activationOTP, .string, "Another name of otp.").ours
        ).tolerant

        package init(externalUserID: String? = nil, otp: String? = nil, activationOTP: String? = nil) {
            (self.externalUserID, self.otp, self.activationOTP) = (externalUserID, otp, activationOTP)
        }
    }

    package struct ChangedRegistration: Described {
        private var done = "OK"
        package var id: String?
        package var status: String?

        /// Callers of the commit read `status`; elsewhere it is named `registrationStatus`.
        package static let fields = FieldTable(
            "ChangedRegistration",
            Self.init(done:id:status:),
            .required("status", \.done, .string(oneOf: ["OK"])),
            .promised("registrationId", \.id, .string).ours,
            .promised("registrationStatus", \.status, .registrationStatus).ours
        )

        private init(done: String, id: String?, status: String?) {
            (self.done, self.id, self.status) = (done, id, status)
        }

        package init(id: String, status: String) { (self.id, self.status) = (id, status) }
    }

    package struct RegistrationFlags: Described {
        package var id: String
        package var flags: [String]

        package static let fields = FieldTable(
            "RegistrationFlags",
            Self.init(id:flags:),
            .required("registrationId", \.id, .string),
            .required("flags", \.flags, .list(of: .string))
        )

        package init(id: String, flags: [String]) { (self.id, self.flags) = (id, flags) }
    }
}

package enum CloudRegistrationStatus: String, Sendable, Codable, CaseIterable {
    case created = "CREATED"
    case pendingCommit = "PENDING_COMMIT"
    case active = "ACTIVE"
    case blocked = "BLOCKED"
    case removed = "REMOVED"
}

extension Form<String> {
    /// The name of a registration's state.
    static var registrationStatus: Self { .string(oneOf: CloudRegistrationStatus.allCases.map(\.rawValue)) }
}

/// A bank's request for a device registration.
package struct NewCloudRegistration: Described {
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

    package var userID: String
    package var applicationID: String?
    package var flags: [String]?
    package var otp: String?
    package var activationOTP: String?
    package var otpValidation: OTPValidation?
    package var activationOTPValidation: OTPValidation?
    package var commitPhase: CommitPhase?
    /// The deadline in milliseconds since 1970.
    package var expires: Int64?
    package var protocolVersion: String?

    package static let fields = FieldTable(
        "NewRegistration",
        Self.init,
        .required("userId", \.userID, .word(upTo: 255), "The user whose device it will be."),
        .optional("appId", \.applicationID, .string, "The application; the server's own if left out."),
        .optional("flags", \.flags, .list(of: .string)),
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
            \.expires,
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

extension NewCloudRegistration {
    package init(userID: String) { self.userID = userID }
}

extension Form<String> {
    /// The full name of a protocol version.
    static var protocolVersion: Self { .string(oneOf: ["3.1", "3.2", "3.3", "4.0"]) }
}

/// A registration in the API's form.
package struct CloudRegistration: Described, Hashable {
    package var id: String
    /// Optional in the response to a creation, like the user and the time.
    package var registrationStatus: String?
    package var status: String?
    package var userID: String?
    package var applicationID: String?
    package var appID: String?
    package var flags: [String]?
    package var failedAttempts: Int?
    package var maximumFailedAttempts: Int?
    /// The creation time in milliseconds since 1970, like all times.
    package var created: Int64?
    package var lastUsed: Int64?
    package var activationCode: String?
    package var activationCodeSignature: String?
    package var activationQRCode: String?
    package var expires: Int64?
    package var name: String?
    package var platform: String?
    package var deviceInfo: String?
    package var externalUserID: String?
    package var protocolVersion: String?
    package var algorithm: String?
    package var fingerprint: String?
    package var blockedReason: String?
    package var blockExpires: Int64?
    package var push: PushTarget?

    package static let fields = FieldTable(
        "Registration",
        Self.init,
        .required("registrationId", \.id, .string, "Also the identifier of the activation."),
        .promised("registrationStatus", \.registrationStatus, .registrationStatus),
        .promised("status", \.status, .registrationStatus, "The same once more.").ours,
        .promised("userId", \.userID, .string),
        .promised("applicationId", \.applicationID, .string),
        .promised("appId", \.appID, .string, "The same as applicationId.").ours,
        .promised("flags", \.flags, .list(of: .string)),
        .promised("failedAttempts", \.failedAttempts, .count).ours,
        .promised("maxFailedAttempts", \.maximumFailedAttempts, .count).ours,
        .promised("timestampCreated", \.created, .timestamp),
        .promised(
            "timestampLastUsed",
            \.lastUsed,
            .timestamp,
            "The time of the last use of its keys; at first, of its creation."
        ),
        .optional("activationCode", \.activationCode, .string, "The code that the user types in."),
        .optional("activationCodeSignature", \.activationCodeSignature, .base64),
        .optional("activationQrCodeData", \.activationQRCode, .string, "The content of the QR code, CODE#SIGNATURE."),
        .optional("timestampExpires", \.expires, .timestamp, "The time until which the code can, or could, be used.")
            .ours,
        .optional("name", \.name, .string),
        .optional("platform", \.platform, .string),
        .optional("deviceInfo", \.deviceInfo, .string),
        .optional("externalUserId", \.externalUserID, .string).ours,
        .optional("protocolVersion", \.protocolVersion, .string).ours,
        .optional("algorithm", \.algorithm, .string).ours,
        .optional("activationFingerprint", \.fingerprint, .string, "Eight digits that the device shows too."),
        .optional("blockedReason", \.blockedReason, .string),
        .optional("timestampBlockExpire", \.blockExpires, .timestamp, "The time at which a block ends by itself.").ours,
        .optional("push", \.push, .described).ours
    )

    /// The push address of a device.
    package struct PushTarget: Described, Hashable {
        package var platform: String
        package var token: String
        package var environment: String?
        package var registered: Int64

        package static let fields = FieldTable(
            "PushDevice",
            Self.init(platform:token:environment:registered:),
            .required("platform", \.platform, .string),
            .required("token", \.token, .string),
            .optional("environment", \.environment, .string),
            .required("timestampRegistered", \.registered, .timestamp)
        )

        package init(platform: String, token: String, environment: String?, registered: Int64) {
            (self.platform, self.token, self.environment, self.registered) = (platform, token, environment, registered)
        }
    }
}

extension CloudRegistration {
    /// The requested registrations.
    package static let list = FieldTable<[Self]>(
        "Registrations",
        .required("registrations", \.self, .list(of: .described))
    )
    .form

    /// Creates a registration with only the members that every server sends.
    package init(id: String, status: String, userID: String, created: Int64) {
        (self.id, self.registrationStatus, self.userID, self.created) = (id, status, userID, created)
    }
}
