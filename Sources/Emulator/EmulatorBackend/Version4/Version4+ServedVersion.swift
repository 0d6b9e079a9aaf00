import Basics
import PowerAuthProtocol

extension Version4: ServedVersion {
    static let routes: [Backend.Route] =
        ServerEndpoints.routes + ActivationCreation.routes + ActivationEndpoints.routes + TokenEndpoints.routes
        + FactorEndpoints.routes + UpgradeEndpoints.routes

    static func requestCode(_ fields: HeaderFields) throws(HeaderError) -> RequestCode? {
        guard Self.isNamed(fields["pa_version"]) else { return nil }
        let header = try AuthenticationHeader(fields)
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

    static func requestToken(_ fields: HeaderFields) throws(HeaderError) -> RequestToken? {
        guard Self.isNamed(fields["version"]) else { return nil }
        let header = try TokenHeader(fields, inVersion4: true)
        return RequestToken(
            version: .version4,
            versionName: Self.name,
            tokenID: header.tokenID,
            nonce: header.nonce,
            timestamp: header.timestamp,
            isMade: { header.isValid(secret: $0) }
        )
    }

    private static func isNamed(_ version: String?) -> Bool { version.map { $0.isExactly(Self.name) } ?? false }
}
