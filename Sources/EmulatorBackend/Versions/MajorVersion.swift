import Basics
import PowerAuthProtocol

/// The versions of the protocol that an activation can be of.
///
/// Each has a folder with all that is its own: keys, encryption, endpoints. What serves the devices of every version asks
/// here, and ``DeviceBinding`` which of them an activation is of; nothing else does.
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

    /// The rules of the version.
    var rules: any ServedVersion.Type {
        switch self {
        case .version3: Version3.self
        case .version4: Version4.self
        }
    }
}

/// The rules of one version of the protocol, as far as all versions are served at the same place.
protocol ServedVersion {
    /// The endpoints that are its own, below `/pa`.
    static var routes: [Backend.Route] { get }

    /// Reads the header that carries a signature or an authentication code.
    ///
    /// - Returns: `nil` for the header of another version.
    /// - Throws: The first field that is missing or not of its form.
    static func requestCode(inHeader value: String) throws(HeaderError) -> RequestCode?

    /// Reads the header that carries the proof of a token.
    ///
    /// - Returns: `nil` for the header of another version.
    /// - Throws: The first field that is missing or not of its form.
    static func requestToken(inHeader value: String) throws(HeaderError) -> RequestToken?
}
