internal import PowerAuthProtocol

/// The application that clients are configured for.
struct ApplicationDescription: Sendable {
    /// As `appId` in the cloud API.
    var id: String
    /// Base64 of 16 bytes.
    var key: String
    /// Base64 of 16 bytes.
    var secret: String
    /// Base64 of the uncompressed X9.62 point, 65 bytes, as it stands in the SDK configuration too.
    var masterServerPublicKey: String
}

extension ApplicationDescription {
    /// The string that configures a client.
    var sdkConfiguration: String {
        let configuration = try? SDKConfiguration(
            applicationKey: self.key,
            applicationSecret: self.secret,
            masterPublicKey: self.masterServerPublicKey
        )
        // The backend makes or reads the three as keys; they are of no other form.
        return configuration?.string ?? ""
    }
}
