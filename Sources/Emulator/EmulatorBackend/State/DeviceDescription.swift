import Basics
import ExactJSON
import Synchronization

/// The device in the user agent of the vendor's own client libraries.
///
/// `PowerAuthNetworking/1.1.7 (en; cellular) com.example.app/2.0.0 (Apple; iOS/16.6.1; iphone12,3)`: everything after the
/// library's version is optional.
struct DeviceDescription {
    /// The members, with the names in real servers.
    let members: JSONObject

    /// The last parsed one, because each look at a decision shows its device.
    private static let last = Mutex<(userAgent: String, members: JSONObject?)?>(nil)

    /// Compiled once, which takes a millisecond. Locked, because a `Regex` is not `Sendable`.
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
        var known = Self.last.withLock { $0 }
        if known?.userAgent.isExactly(userAgent) != true {
            known = (userAgent, Self.members(in: userAgent))
            Self.last.withLock { [known] in $0 = known }
        }
        guard let members = known?.members else { return nil }
        self.members = members
    }

    private static func members(in userAgent: String) -> JSONObject? {
        guard let match = Self.form.withLock({ try? $0.wholeMatch(in: userAgent)?.output }) else { return nil }
        var members: JSONObject = ["networkVersion": .string(String(match.networkVersion))]
        let optional = [
            ("language", match.language), ("connection", match.connection), ("product", match.product),
            ("version", match.version), ("platform", match.platform), ("os", match.os),
            ("osVersion", match.osVersion), ("model", match.model),
        ]
        for (name, value) in optional { members[name] = value.map { .string(String($0)) } ?? .null }
        return members
    }
}
