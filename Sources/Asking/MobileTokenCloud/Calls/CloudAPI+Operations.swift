package import APIDescriptions

extension CloudAPI {
    package static let listOperations = Self.endpoint(
        "GET /v2/operations",
        isOurs: true,
        "Lists operations.",
        takes: Call.query(
            FieldTable<String?>("UserFilter", .optional("userId", \.self, .word, "Lists those of this user only."))
        ),
        gives: FieldTable<[CloudClient.Operation]>("Operations", .required("operations", \.self, .list(of: .described)))
            .form
    )

    package static let createOperation = Self.endpoint(
        "POST /v2/operations",
        fills: true,
        "Creates an operation.",
        takes: Call.body(CloudClient.NewOperation.form),
        gives: CloudClient.Operation.form
    )

    package static let cancelOperation = Self.endpoint(
        "DELETE /v2/operations/{id}",
        fills: true,
        "Cancels an operation.",
        takes: Call.segment("id"),
        Call.query(
            FieldTable<String?>(
                "Cancellation",
                .optional("statusReason", \.self, .string(upTo: 32), "The reason it is canceled.")
            )
        ),
        gives: CloudClient.Operation.form
    )

    package static let showOperation = Self.endpoint(
        "GET /v2/operations/{id}",
        "Shows an operation.",
        takes: Call.segment("id"),
        gives: CloudClient.Operation.form
    )
}

package enum CloudOperationStatus: String, Sendable, Codable, CaseIterable {
    case pending = "PENDING"
    case approved = "APPROVED"
    case rejected = "REJECTED"
    case canceled = "CANCELED"
    case expired = "EXPIRED"
    case failed = "FAILED"
}

extension Schema {
    package static let allowedSignature = Self.object(
        "AllowedSignatureType",
        [
            .required("type", .oneOf(["1FA", "2FA", "ECDSA"])),
            .required("variants", .strings, "Sets of factors, such as possession_knowledge."),
        ]
    )
}
