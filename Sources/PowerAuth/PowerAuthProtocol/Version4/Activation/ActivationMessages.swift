package import ExactJSON
package import PowerAuthCrypto

extension Version4 {
    /// The outer layer of a request to create an activation, encrypted in the application scope.
    package struct ActivationRequest: Sendable, Equatable, Codable {
        package static let codeType = "CODE"

        package let type: String
        package let identityAttributes: [String: String]
        package let customAttributes: JSONValue?
        /// A ``ActivationRequestContent``, encrypted with the same temporary key and another nonce.
        package let activationData: EncryptedRequest

        /// Creates the request for an activation with a code.
        package init(code: String, customAttributes: JSONValue?, activationData: EncryptedRequest) {
            self.type = Self.codeType
            self.identityAttributes = ["code": code]
            self.customAttributes = customAttributes
            self.activationData = activationData
        }
    }

    /// The inner layer of a request to create an activation: keys and names.
    package struct ActivationRequestContent: Sendable, Equatable, Codable {
        package let sharedSecretRequest: SharedSecretRequest
        package let devicePublicKeys: SigningKeysMessage
        package let activationName: String
        package let activationOtp: String?
        package let platform: String
        package let deviceInfo: String
        package let extras: String?

        package init(
            sharedSecretRequest: SharedSecretRequest,
            devicePublicKeys: SigningPublicKeys,
            activationName: String,
            activationOtp: String?,
            platform: String,
            deviceInfo: String,
            extras: String?
        ) {
            self.sharedSecretRequest = sharedSecretRequest
            self.devicePublicKeys = SigningKeysMessage(devicePublicKeys)
            self.activationName = activationName
            self.activationOtp = activationOtp
            self.platform = platform
            self.deviceInfo = deviceInfo
            self.extras = extras
        }
    }

    package struct ActivationResponseContent: Sendable, Equatable {
        package let activationID: String
        package let keys: NewKeysMessage

        package init(activationID: String, keys: NewKeysMessage) {
            self.activationID = activationID
            self.keys = keys
        }
    }

    /// The server's part of the version 4 keys of a new or upgraded activation.
    package struct NewKeysMessage: Sendable, Equatable {
        package let sharedSecretResponse: SharedSecretResponse
        package let serverPublicKeys: SigningKeysMessage
        /// The initial `CTR_DATA`, 32 bytes.
        package let counterData: SecretBytes

        package init(
            sharedSecretResponse: SharedSecretResponse,
            serverPublicKeys: SigningPublicKeys,
            counterData: SecretBytes
        ) {
            self.sharedSecretResponse = sharedSecretResponse
            self.serverPublicKeys = SigningKeysMessage(serverPublicKeys)
            self.counterData = counterData
        }
    }

    /// The content of an activation's confirmation, which has its first authentication code.
    package struct ActivationConfirmation: Sendable, Equatable, Codable {
        /// Indicates whether the client keeps the derived biometric key.
        package let enableBiometry: Bool

        package init(enableBiometry: Bool) { self.enableBiometry = enableBiometry }
    }

    /// The content of the request that starts an upgrade from version 3.
    package struct UpgradeRequest: Sendable, Equatable, Codable {
        package let sharedSecretRequest: SharedSecretRequest
        package let devicePublicKeys: SigningKeysMessage
        /// Indicates whether the client has a biometric key, which the derived one replaces.
        package let enableBiometry: Bool

        package init(
            sharedSecretRequest: SharedSecretRequest,
            devicePublicKeys: SigningPublicKeys,
            enableBiometry: Bool
        ) {
            self.sharedSecretRequest = sharedSecretRequest
            self.devicePublicKeys = SigningKeysMessage(devicePublicKeys)
            self.enableBiometry = enableBiometry
        }
    }
}

extension Version4.ActivationResponseContent: Codable {
    private enum CodingKeys: String, CodingKey {
        case activationID = "activationId"
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.activationID = try container.decode(String.self, forKey: .activationID)
        self.keys = try Version4.NewKeysMessage(from: decoder)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.activationID, forKey: .activationID)
        try self.keys.encode(to: encoder)
    }
}

extension Version4.NewKeysMessage: Codable {
    private enum CodingKeys: String, CodingKey {
        case sharedSecretResponse, serverPublicKeys
        case counterData = "ctrData"
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.sharedSecretResponse = try container.decode(
            Version4.SharedSecretResponse.self,
            forKey: .sharedSecretResponse
        )
        self.serverPublicKeys = try container.decode(Version4.SigningKeysMessage.self, forKey: .serverPublicKeys)
        self.counterData = try container.decodeSecret(count: Version4.HashCounter.byteCount, forKey: .counterData)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.sharedSecretResponse, forKey: .sharedSecretResponse)
        try container.encode(self.serverPublicKeys, forKey: .serverPublicKeys)
        try container.encodeBase64(self.counterData, forKey: .counterData)
    }
}
