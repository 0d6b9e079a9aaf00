/// A mistake in an ``SDKConfiguration``. It says nothing of the content, so it may be logged.
public struct SDKConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The mistake in words.
    public let description: String

    private init(_ description: String) { self.description = "SDK configuration: \(description)" }

    /// The string is empty.
    public static let empty = Self("it is empty")
    /// The string is not Base64.
    public static let notBase64 = Self("it is not Base64")
    /// The string has a format that this version of the package does not know.
    public static let unsupportedVersion = Self("it has an unknown format")
    /// The string ends too early.
    public static let truncated = Self("it was cut off")
    /// Bytes follow where the configuration ends.
    public static let trailingBytes = Self("something follows its end")
    /// The application key is not 16 bytes.
    public static let invalidApplicationKey = Self("the application key is not 16 bytes in Base64")
    /// The application secret is not 16 bytes.
    public static let invalidApplicationSecret = Self("the application secret is not 16 bytes in Base64")
    /// A master key is not of its kind, or there are two of a kind.
    public static let invalidMasterPublicKey = Self("a master key is invalid, or there are two of a kind")
    /// There is no key of a kind that this version of the package knows.
    public static let missingMasterPublicKey = Self("the master key is missing")
    /// There are keys of version 4 of the protocol alone, without that of version 3, which every configuration has.
    public static let requiresVersion4 = Self(
        "there are keys of version 4 of the protocol alone, without that of version 3"
    )
}
