import ExactJSON
import Synchronization

/// The device in the user agent of a client of the vendor's own libraries.
///
/// `PowerAuthNetworking/1.1.7 (en; cellular) com.example.app/2.0.0 (Apple; iOS/16.6.1; iphone12,3)`: all behind the version of
/// the library may be missing.
struct DeviceDescription {
    /// The members, under the names that real servers use.
    let members: JSONObject

    /// Compiled once, which takes a millisecond. One caller at a time, for a `Regex` is not `Sendable`.
    private static let form = Mutex(
        #/
        (?:PowerAuthNetworking|.*PowerAuth2)\/(?<networkVersion>1\.\d+\.\d+)\x20
        (?:\((?<language>[a-zA-Z]{2});\x20(?<connection>[a-zA-Z0-9]+)\)\x20)?
        (?:(?<product>[a-zA-Z0-9\-_.]+)\/(?<version>[0-9.]+(?:-[^\x20]*)?)\x20)?
        (?:\((?:(?<platform>[^;]+);\x20)?(?<os>[^\/\x20]+)[\/\x20](?<osVersion>[^;,]+)[;,]\x20(?<model>[^)]+)\))?
        .*
        /#
    )

    /// - Returns: `nil` for other clients, and for another generation of the libraries.
    init?(userAgent: String) {
        guard let match = Self.form.withLock({ try? $0.wholeMatch(in: userAgent)?.output }) else { return nil }
        var members: JSONObject = ["networkVersion": .string(String(match.networkVersion))]
        let optional = [
            ("language", match.language), ("connection", match.connection), ("product", match.product),
            ("version", match.version), ("platform", match.platform), ("os", match.os),
            ("osVersion", match.osVersion), ("model", match.model),
        ]
        for (name, value) in optional { members[name] = value.map { .string(String($0)) } }
        self.members = members
    }
}
