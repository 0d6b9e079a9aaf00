package import APIDescriptions

extension CloudAPI {
    package static let listRegistrations = Self.endpoint(
        "GET /v2/registrations",
        isOurs: true,
        "Lists registrations.",
        takes: Call.query(RegistrationFilter.fields),
        gives: CloudClient.Registration.list
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
        Call.body(CloudClient.NewRegistration.form),
        gives: CloudClient.Registration.form
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
        gives: CloudClient.Registration.form
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
    }

    package struct ChangedRegistration: Described {
        private var done = "OK"
        package var id: String?
        package var status: CloudClient.RegistrationStatus?

        /// Callers of the commit read `status`; elsewhere it is named `registrationStatus`.
        package static let fields = FieldTable(
            "ChangedRegistration",
            Self.init(done:id:status:),
            .required("status", \.done, .string(oneOf: ["OK"])),
            .promised("registrationId", \.id, .string).ours,
            .promised("registrationStatus", \.status, .registrationStatus).ours
        )

        private init(done: String, id: String?, status: CloudClient.RegistrationStatus?) {
            (self.done, self.id, self.status) = (done, id, status)
        }

        package init(id: String, status: CloudClient.RegistrationStatus) { (self.id, self.status) = (id, status) }
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

extension Form<CloudClient.RegistrationStatus> {
    package static var registrationStatus: Self {
        Form<String>.string(oneOf: CloudRegistrationStatus.allCases.map(\.rawValue))
            .map(Value.init(rawValue:), from: \.rawValue)
    }
}

extension Form<String> {
    /// The full name of a protocol version.
    static var protocolVersion: Self { .string(oneOf: ["3.1", "3.2", "3.3", "4.0"]) }
}
