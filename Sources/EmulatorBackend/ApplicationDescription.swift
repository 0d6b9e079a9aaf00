import PowerAuthCrypto
import PowerAuthProtocol

/// The application that clients are configured for.
package struct ApplicationDescription: Sendable {
    /// As `appId` in the cloud API.
    package var id: String
    /// Base64 of 16 bytes.
    package var key: String
    /// Base64 of 16 bytes.
    package var secret: String
    /// Base64 of the uncompressed X9.62 point, 65 bytes, as it stands in the SDK configuration too.
    package var masterServerPublicKey: String
    /// The string that configures a client, with the keys of every version.
    package var sdkConfiguration: String = ""
}

extension Backend {
    /// The application that clients are configured for.
    package var defaultApplication: ApplicationDescription {
        guard let application = self.state.applications[self.state.defaultApplicationID] else {
            return ApplicationDescription(
                id: self.state.defaultApplicationID,
                key: "",
                secret: "",
                masterServerPublicKey: ""
            )
        }
        return ApplicationDescription(
            id: application.id,
            key: application.key,
            secret: application.secret.base64,
            masterServerPublicKey: Base64.encode(application.masterKey.publicKey.uncompressed),
            sdkConfiguration: application.configuration.string
        )
    }
}
