import PowerAuthProtocol

/// Version 3 of the protocol: 3.1, 3.2 and 3.3.
enum Version3: ServedVersion {
    static let routes: [Backend.Route] =
        ServerEndpoints.routes + ActivationCreation.routes + ActivationEndpoints.routes + TokenEndpoints.routes
        + Recovery.routes + Upgrade.routes

    /// Reads every header that belongs to no newer version, so that it reports unknown versions.
    static func requestCode(_ fields: HeaderFields) throws(HeaderError) -> RequestCode? {
        let header = try SignatureHeader(fields)
        return RequestCode(
            version: .version3,
            versionName: header.version.rawValue,
            activationID: header.activationID,
            applicationKey: header.applicationKey,
            nonce: header.nonce,
            type: header.type,
            bytes: header.signature
        )
    }

    static func requestToken(_ fields: HeaderFields) throws(HeaderError) -> RequestToken? {
        let header = try TokenHeader(fields)
        return RequestToken(
            version: .version3,
            versionName: header.version.rawValue,
            tokenID: header.tokenID,
            nonce: header.nonce,
            timestamp: header.timestamp,
            isMade: { header.isValid(secret: $0) }
        )
    }
}
