import Basics
public import Foundation
import MobileToken

/// The content of a deep link or a QR code: an operation, and optionally a one-time code that proves presence.
///
/// It is unsigned: a hint which operation to fetch, and no proof of anything. Scheme, host and path of a link are the
/// application's business and not checked.
public struct ProximityCode: Sendable, Hashable {
    /// The operation's identifier.
    public let operationID: String
    /// The one-time code to send as a `UserOperation.ProximityCheck`.
    public let totp: String?

    /// Creates a code; nil for an empty identifier.
    public init?(operationID: String, totp: String? = nil) {
        guard !operationID.isEmpty else { return nil }
        self.operationID = operationID
        self.totp = totp
    }

    /// Reads a link: `scheme://operation?oid=…&potp=…`, `scheme://operation?code=<JWT>` or `scheme://code=<JWT>`.
    ///
    /// Surrounding white space is ignored. Any other string gives nil.
    public init?(deepLink: String) {
        guard let link = DeepLink(deepLink) else { return nil }
        if let operationID = link.parameter("oid") {
            let totps = ["totp", "potp"].compactMap { link.parameter($0) }
            self.init(operationID: operationID, totps: totps)
        } else {
            guard let token = link.token.flatMap(\.value) else { return nil }
            self.init(token: token)
        }
    }

    private init?(operationID: DeepLink.Value, totps: [DeepLink.Value]) {
        guard let operationID = operationID.value else { return nil }
        guard let totp = totps.first(where: { !$0.isEmpty }) else {
            self.init(checking: operationID, totp: nil)
            return
        }
        guard let totp = totp.value else { return nil }
        self.init(checking: operationID, totp: totp)
    }

    /// Creates a code from external strings, unless they contain control characters.
    init?(checking operationID: String, totp: String?) {
        let scalars = [operationID, totp ?? ""].map(\.unicodeScalars)
        guard !scalars.contains(where: { $0.contains(where: \.isControlOrByteOrderMark) }) else { return nil }
        self.init(operationID: operationID, totp: totp)
    }

    /// Reads a link.
    public init?(deepLink: URL) {
        self.init(deepLink: deepLink.absoluteString)
    }

    /// Reads a QR code: a link, or the bare JWT. Surrounding white space is ignored.
    public init?(qrCode: String) {
        if DeepLink(qrCode) != nil {
            self.init(deepLink: qrCode)
        } else {
            self.init(token: DeepLink.trimmed(qrCode))
        }
    }
}

extension ProximityCode: CustomStringConvertible {
    /// Only the operation; the one-time code stays private.
    public var description: String {
        "<proximity code of operation \(DisplayText.escaped(self.operationID, limit: 64))>"
    }
}

/// The relevant parts of a link, still percent-encoded. They are split by bytes: to a `String`, a separator and a following
/// combining mark are one character, which is no separator.
private struct DeepLink {
    private let authorityAndPath: ArraySlice<UInt8>
    private let query: ArraySlice<UInt8>

    init?(_ text: String) {
        let trimmed = Self.trimmed(text)
        // `URL` percent-encodes invalid characters. Doing the same here makes the result independent of who parses first.
        let bytes = Array((URL(string: trimmed)?.absoluteString ?? trimmed).utf8)
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon > 0,
            bytes[colon...].starts(with: "://".utf8), !bytes[..<colon].contains(where: Self.endsScheme)
        else { return nil }
        let withoutFragment = bytes[(colon + 3)...].prefix { $0 != UInt8(ascii: "#") }
        let parts = withoutFragment.split(
            separator: UInt8(ascii: "?"),
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        self.authorityAndPath = parts.first ?? []
        self.query = parts.count > 1 ? parts[1] : []
    }

    private static func endsScheme(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") || byte == UInt8(ascii: "/")
    }

    /// Returns whether a percent sign is not followed by two hexadecimal digits.
    fileprivate static func hasBrokenEscape(_ text: some StringProtocol) -> Bool {
        text.utf8.split(separator: UInt8(ascii: "%"), omittingEmptySubsequences: false).dropFirst().contains { part in
            part.prefix(2).count < 2 || part.prefix(2).contains { $0.hexadecimalValue == nil }
        }
    }

    /// Returns the string without surrounding white space.
    static func trimmed(_ text: String) -> String {
        String(text.unicodeScalars.trimming { $0.properties.isWhitespace })
    }

    /// Returns the first value of a name; empty if the name has no value.
    func parameter(_ name: String) -> Value? { Self.parameter(name, in: self.query) }

    /// A JWT in the query, or in place of the host.
    var token: Value? {
        [self.query, self.authorityAndPath].compactMap { Self.parameter("code", in: $0) }.first { !$0.isEmpty }
    }

    private static func parameter(_ name: String, in text: ArraySlice<UInt8>) -> Value? {
        for pair in text.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let key = parts.first, Value(bytes: key).value?.isExactly(name) == true else { continue }
            return Value(bytes: parts.count > 1 ? parts[1] : [])
        }
        return nil
    }

    struct Value {
        let bytes: ArraySlice<UInt8>

        var isEmpty: Bool { self.bytes.isEmpty }

        /// The value, decoded once; a plus stays a plus. Nil if an escape is broken or the result is not UTF-8.
        ///
        /// A broken escape is also refused if `URL` has hidden it by escaping its percent sign.
        var value: String? {
            guard let decoded = String(decoding: self.bytes, as: UTF8.self).removingPercentEncoding,
                !DeepLink.hasBrokenEscape(decoded)
            else { return nil }
            return decoded
        }
    }
}

extension ProximityCode: Opaque {}
