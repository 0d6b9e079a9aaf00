import Basics
import PowerAuthProtocol

/// The protocol versions of activations.
///
/// Each has a folder with its own keys, encryption and endpoints. Only code that serves devices of every version asks here, and
/// ``DeviceBinding`` for an activation's version.
package enum MajorVersion: Int, Sendable, Codable, CaseIterable {
    case version3 = 3
    case version4 = 4

    private static let namesOfVersion3 = ["3.1", "3.2", "3.3"]

    /// The full names of all versions.
    static let names = Self.namesOfVersion3 + [Version4.name]

    /// Returns the version of a full name, such as `3.3`.
    init?(name: String) {
        guard let known = Self.names.first(where: name.isExactly) else { return nil }
        self = Self.namesOfVersion3.contains(known) ? .version3 : .version4
    }

    var rules: any ServedVersion.Type {
        switch self {
        case .version3: Version3.self
        case .version4: Version4.self
        }
    }
}

/// The rules of one protocol version at the common endpoints.
protocol ServedVersion {
    /// The version's own endpoints, below `/pa`.
    static var routes: [Backend.Route] { get }

    /// Reads the header of a signature or an authentication code.
    ///
    /// - Returns: `nil` for the header of another version.
    /// - Throws: The first field that is missing or invalid.
    static func requestCode(_ fields: HeaderFields) throws(HeaderError) -> RequestCode?

    /// Reads the header of a token's proof.
    ///
    /// - Returns: `nil` for the header of another version.
    /// - Throws: The first field that is missing or invalid.
    static func requestToken(_ fields: HeaderFields) throws(HeaderError) -> RequestToken?
}
