import Basics
public import Foundation
import PowerAuthProtocol

/// The content of a deep link or a QR code: an operation, and perhaps the one-time code that proves being there.
///
/// It is not signed: it is a hint which operation to fetch, and nothing is trusted because of it. The scheme, host and
/// path of a link are the application's affair and not looked at.
public struct ProximityCode: Sendable, Hashable {
    /// The operation's identifier.
    public let operationID: String
    /// The one-time code, to be sent as a ``UserOperation/ProximityCheck``.
    public let totp: String?

    /// Creates a code; nil for an empty identifier.
    public init?(operationID: String, totp: String? = nil) {
        guard !operationID.isEmpty else { return nil }
        self.operationID = operationID
        self.totp = totp
    }

    /// Reads a link: `scheme://operation?oid=…&potp=…`, `scheme://operation?code=<JWT>` or `scheme://code=<JWT>`.
    ///
    /// White space around it is left out. Everything else is nil.
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

    /// Creates a code from what came from outside, unless it holds control characters.
    init?(checking operationID: String, totp: String?) {
        let scalars = [operationID, totp ?? ""].map(\.unicodeScalars)
        guard !scalars.contains(where: { $0.contains(where: \.isControlOrByteOrderMark) }) else { return nil }
        self.init(operationID: operationID, totp: totp)
    }

    /// Reads a link.
    public init?(deepLink: URL) {
        self.init(deepLink: deepLink.absoluteString)
    }

    /// Reads a QR code: a link, or the bare JWT. White space around it is left out.
    public init?(qrCode: String) {
        if DeepLink(qrCode) != nil {
            self.init(deepLink: qrCode)
        } else {
            self.init(token: DeepLink.trimmed(qrCode))
        }
    }
}

extension ProximityCode: CustomStringConvertible, CustomReflectable {
    /// The operation alone; the one-time code stays private.
    public var description: String {
        "<proximity code of operation \(DisplayText.escaped(self.operationID, limit: 64))>"
    }
    /// Nothing to look into.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The parts of a link that matter here, still percent-encoded. They are split by bytes: to a `String`, a separator and a
/// combining mark behind it are one character, which is no separator.
private struct DeepLink {
    private let authorityAndPath: ArraySlice<UInt8>
    private let query: ArraySlice<UInt8>

    init?(_ text: String) {
        let trimmed = Self.trimmed(text)
        // `URL` encodes what may not stand in one. The same is done here, so that it does not matter who reads first.
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

    /// Returns whether a percent sign is followed by anything but two hexadecimal digits.
    fileprivate static func hasBrokenEscape(_ text: some StringProtocol) -> Bool {
        text.utf8.split(separator: UInt8(ascii: "%"), omittingEmptySubsequences: false).dropFirst().contains { part in
            part.prefix(2).count < 2 || part.prefix(2).contains { $0.hexadecimalValue == nil }
        }
    }

    /// Returns the string without the white space around it.
    static func trimmed(_ text: String) -> String {
        String(text.unicodeScalars.trimming { $0.properties.isWhitespace })
    }

    /// Returns the first value of a name; empty when the name is there alone.
    func parameter(_ name: String) -> Value? { Self.parameter(name, in: self.query) }

    /// A JWT in the query, or in the place of the host.
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

    /// A value as it stands in the link.
    struct Value {
        let bytes: ArraySlice<UInt8>

        var isEmpty: Bool { self.bytes.isEmpty }

        /// Decoded once; a plus stays a plus. Nil when an escape is broken or the result is not UTF-8.
        ///
        /// A broken escape is also refused where `URL` has hidden it by escaping its percent sign.
        var value: String? {
            guard let decoded = String(decoding: self.bytes, as: UTF8.self).removingPercentEncoding,
                !DeepLink.hasBrokenEscape(decoded)
            else { return nil }
            return decoded
        }
    }
}
