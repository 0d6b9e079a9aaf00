import Basics
import PowerAuthProtocol

extension Version4: ServedVersion {
    static let routes: [Backend.Route] =
        ServerEndpoints.routes + ActivationCreation.routes + ActivationEndpoints.routes + TokenEndpoints.routes
        + FactorEndpoints.routes + UpgradeEndpoints.routes

    static func requestCode(inHeader value: String) throws(HeaderError) -> RequestCode? {
        guard Self.isNamed(in: value, "pa_version") else { return nil }
        let header = try AuthenticationHeader(parsing: value)
        guard let type = SignatureType(rawValue: header.type.rawValue) else {
            throw HeaderError("pa_auth_code_type", .invalid)
        }
        return RequestCode(
            version: .version4,
            versionName: Self.name,
            activationID: header.activationID,
            applicationKey: header.applicationKey,
            nonce: header.nonce,
            type: type,
            bytes: header.code
        )
    }

    static func requestToken(inHeader value: String) throws(HeaderError) -> RequestToken? {
        guard Self.isNamed(in: value, "version") else { return nil }
        let header = try TokenHeader(parsing: value, inVersion4: true)
        return RequestToken(
            version: .version4,
            versionName: Self.name,
            tokenID: header.tokenID,
            nonce: header.nonce,
            timestamp: header.timestamp,
            isMade: { header.isValid(secret: $0) }
        )
    }

    /// Indicates whether a header's field names this version.
    private static func isNamed(in header: String, _ field: String) -> Bool {
        HeaderFields(parsing: header)[field].map { $0.isExactly(Self.name) } ?? false
    }
}
