package import APIDescriptions

extension CloudAPI {
    package static let makeOfflineCode = Self.endpoint(
        "GET /v2/operations/{id}/offline/qr",
        "Makes the QR code of an offline approval.",
        takes: Call.segment("id"),
        Call.query(OfflineSigner.fields),
        gives: CloudClient.OfflineCode.form
    )

    package static let verifyOfflineCode = Self.endpoint(
        "POST /v2/operations/{id}/offline/otp",
        "Verifies the code of an offline approval.",
        takes: Call.segment("id"),
        Call.body(TypedOfflineCode.form),
        gives: CloudClient.Verdict.ofOfflineCode.form
    )

    /// The keys that sign an offline QR code.
    package struct OfflineSigner: Described {
        package var registrationID: String?
        package var protocolVersion: String?

        package static let fields = FieldTable(
            "OfflineSigner",
            Self.init(registrationID:protocolVersion:),
            .optional("registrationId", \.registrationID, .string, "The registration whose device the code is for."),
            .optional(
                "protocolVersion",
                \.protocolVersion,
                .protocolVersion,
                "The version whose master key signs, where no registration is named."
            ).ours
        )

        package init(registrationID: String?, protocolVersion: String? = nil) {
            (self.registrationID, self.protocolVersion) = (registrationID, protocolVersion)
        }
    }

    /// A code typed in from a device.
    package struct TypedOfflineCode: Described {
        package var code: String
        package var nonce: String
        package var registrationID: String

        package static let fields = FieldTable(
            "OfflineCode",
            Self.init(code:nonce:registrationID:),
            .required("otp", \.code, .word, "The code that the device shows."),
            .required("nonce", \.nonce, .word, "The nonce of the QR code."),
            .required("registrationId", \.registrationID, .word)
        ).tolerant
    }

    /// The application of an activation with a verified code.
    package struct VerifiedApplication: Described {
        package var id: String
        package var roles: [String]

        package static let fields = FieldTable(
            "VerifiedApplication",
            Self.init(id:roles:),
            .required("id", \.id, .string),
            .required("roles", \.roles, .list(of: .string))
        )

        package init(id: String, roles: [String]) { (self.id, self.roles) = (id, roles) }
    }
}
