/// A mistake in an ``SDKConfiguration``. It contains no input, so it may be logged.
public struct SDKConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A description of the mistake.
    public let description: String

    private init(_ description: String) { self.description = "SDK configuration: \(description)" }

    /// The string is empty.
    package static let empty = Self("it is empty")
    /// The string is not Base64.
    package static let notBase64 = Self("it is not Base64")
    /// The string has an unknown format.
    package static let unsupportedVersion = Self("it has an unknown format")
    /// The string is truncated.
    package static let truncated = Self("it was cut off")
    /// Bytes follow the end of the configuration.
    package static let trailingBytes = Self("something follows its end")
    /// The application key is not 16 bytes.
    package static let invalidApplicationKey = Self("the application key is not 16 bytes in Base64")
    /// The application secret is not 16 bytes.
    package static let invalidApplicationSecret = Self("the application secret is not 16 bytes in Base64")
    /// A master key is invalid, or there are two of a kind.
    package static let invalidMasterPublicKey = Self("a master key is invalid, or there are two of a kind")
    /// The string contains no known kind of key.
    package static let missingMasterPublicKey = Self("the master key is missing")
    /// The string contains only version 4 keys. Every configuration needs the version 3 key.
    package static let requiresVersion4 = Self(
        "there are keys of version 4 of the protocol alone, without that of version 3"
    )
}
