package import APIDescriptions

extension CloudAPI {
    /// Newer editions of the documentation name the call after authentication codes, older ones and the clients after signatures.
    package static let verifySignature = Self.verifyCode("/v2/signature/verify")
    package static let verifyAuthentication = Self.verifyCode("/v2/authentication/verify")

    private static func verifyCode(_ path: String) -> Endpoint<CloudClient.SignedRequest, CloudClient.Verdict> {
        Self.endpoint(
            "POST \(path)",
            "Verifies the signature or the authentication code of a request that a device sent to the bank.",
            takes: Call.body(CloudClient.SignedRequest.form),
            gives: CloudClient.Verdict.ofCode.form
        )
    }

    package static let verifyToken = Self.endpoint(
        "POST /v2/token/verify",
        "Verifies the token of a request that a device sent to the bank.",
        takes: Call.body(Self.tokenHeader.form),
        gives: CloudClient.Verdict.ofToken.form
    )

    /// The header of a device's request to the bank.
    private static let tokenHeader = FieldTable<String>(
        "TokenToVerify",
        .required(
            "authHeader",
            \.self,
            .word,
            "The value of X-PowerAuth-Token.",
            example: """
                PowerAuth token_id="0f038bac-6c94-45eb-b3a9-f92e809e8ea4", \
                token_digest="MTIzNDU2Nzg5MDEyMzQ1NjEyMzQ1Njc4OTAxMjM0NTY=", nonce="kYjzVBB8Y0ZFabxSWbWovQ==", \
                timestamp="1772352000000", version="3.3"
                """
        )
    ).tolerant
}
