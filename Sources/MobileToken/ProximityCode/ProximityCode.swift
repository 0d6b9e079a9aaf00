public import Foundation

/// What a deep link or a QR code says of an operation, and perhaps the one-time code that proves being there.
///
/// Nobody signed it: it is a hint which operation to fetch, and nothing is trusted because of it. The scheme, host and path
/// of a link are the application's affair and not looked at.
public struct ProximityCode: Sendable, Hashable {
    /// The operation's identifier.
    public let operationID: String
    /// The one-time code, to be sent as a ``ProximityCheck``.
    public let totp: String?

    /// Creates a code; nil for an empty identifier.
    public init?(operationID: String, totp: String? = nil) {
        guard !operationID.isEmpty else { return nil }
        self.operationID = operationID
        self.totp = totp
    }

    /// Reads a link: `scheme://operation?oid=…&potp=…`, `scheme://operation?code=<JWT>` or `scheme://code=<JWT>`.
    ///
    /// Everything else is nil.
    public init?(deepLink: String) {
        guard let link = DeepLink(deepLink) else { return nil }
        if let operationID = link.parameter("oid") {
            guard let operationID = operationID.percentDecoded else { return nil }
            let totps = ["totp", "potp"].compactMap { link.parameter($0) }
            guard let totp = totps.first(where: { !$0.isEmpty }) else {
                self.init(operationID: operationID)
                return
            }
            guard let totp = totp.percentDecoded else { return nil }
            self.init(operationID: operationID, totp: totp)
        } else {
            guard let token = link.token?.percentDecoded else { return nil }
            self.init(token: token)
        }
    }

    /// Reads a link.
    public init?(deepLink: URL) {
        self.init(deepLink: deepLink.absoluteString)
    }

    /// Reads a QR code: a link, or the bare JWT.
    public init?(qrCode: String) {
        if DeepLink(qrCode) != nil {
            self.init(deepLink: qrCode)
        } else {
            self.init(token: qrCode)
        }
    }
}

extension ProximityCode: CustomStringConvertible, CustomReflectable {
    /// The operation alone; the one-time code is nobody else's business.
    public var description: String { "<proximity code of operation \(self.operationID)>" }
    /// Nothing to look into.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The parts of a link that matter here, still percent-encoded.
///
/// `URL` is not used: it would encode what should be refused, and its query items know a plus from a blank only sometimes.
private struct DeepLink {
    private let authorityAndPath: Substring
    private let query: Substring

    init?(_ text: String) {
        guard let scheme = text.range(of: "://"), scheme.lowerBound > text.startIndex,
            !text[..<scheme.lowerBound].contains(where: { "?#/".contains($0) })
        else { return nil }
        let withoutFragment = text[scheme.upperBound...].prefix { $0 != "#" }
        let parts = withoutFragment.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        self.authorityAndPath = parts[0]
        self.query = parts.count > 1 ? parts[1] : ""
    }

    /// The first value of a name; empty when the name is there alone.
    func parameter(_ name: String) -> Substring? { Self.parameter(name, in: self.query) }

    /// A JWT in the query, or in the place of the host.
    var token: Substring? {
        [self.query, self.authorityAndPath].compactMap { Self.parameter("code", in: $0) }.first { !$0.isEmpty }
    }

    private static func parameter(_ name: String, in text: Substring) -> Substring? {
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if String(parts[0]).removingPercentEncoding == name { return parts.count > 1 ? parts[1] : "" }
        }
        return nil
    }
}

extension Substring {
    /// Decoded once; a plus stays a plus. Nil when an escape is broken or the result is not UTF-8.
    fileprivate var percentDecoded: String? { String(self).removingPercentEncoding }
}
