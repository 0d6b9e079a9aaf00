import PowerAuthCrypto
import PowerAuthProtocol

/// The application that clients are configured for.
package struct ApplicationDescription: Sendable {
    /// The identifier, `appId` in the cloud API.
    package var id: String
    /// 16 bytes in Base64.
    package var key: String
    /// 16 bytes in Base64.
    package var secret: String
    /// The uncompressed X9.62 point of 65 bytes in Base64, as in the SDK configuration.
    package var masterServerPublicKey: String
    /// The configuration string for a client, with the keys of every version.
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
            sdkConfiguration: application.configuration(of: self.profile).string
        )
    }

    /// Returns the configuration string for a device of an application.
    ///
    /// - Parameters:
    ///   - id: The application; `nil` for the registration's, or else the server's own.
    ///   - activationCode: The code of a registration.
    package func sdkConfiguration(ofApplication id: String?, orOf activationCode: String?) throws(Refusal) -> String {
        let registration = activationCode.flatMap { self.state.offers[$0] }.flatMap { self.state.activations[$0] }
        return try self.application(named: id ?? registration?.applicationID).configuration(of: self.profile).string
    }
}
