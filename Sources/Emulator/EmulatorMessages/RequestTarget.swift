import Basics

extension ReceivedRequest {
    /// Splits a target from a request line, and removes a real server's context path.
    package init(method: String, target: String) {
        // By bytes: to a `String`, a question mark followed by a combining mark is no question mark.
        var target = Substring(target).utf8
        // A proxy's client may send the absolute form.
        for scheme in ["http://", "https://"]
        where Substring(target.prefix(scheme.utf8.count)).equalsIgnoringASCIICase(scheme) {
            let authority = target.dropFirst(scheme.utf8.count)
            target = authority.firstIndex(of: UInt8(ascii: "/")).map { authority[$0...] } ?? Substring("/").utf8
        }
        let mark = target.firstIndex(of: UInt8(ascii: "?"))
        let path = withoutContextPath(unescapedPlainly(target[..<(mark ?? target.endIndex)])[...])
        self.init(method: method, path: path.isEmpty ? "/" : String(path))
        guard let mark else { return }
        self.rawQuery = String(Substring(target[mark...].dropFirst()))
        self.query = formPairs(self.rawQuery[...].utf8)
    }
}

/// Returns a path without needless escapes of letters, digits and `-._~`: RFC 3986 § 6.2.2.2 treats both forms as equal.
private func unescapedPlainly(_ path: Substring.UTF8View) -> String {
    guard path.contains(UInt8(ascii: "%")) else { return String(Substring(path)) }
    var bytes: [UInt8] = []
    var rest = path
    while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "%"), let escaped = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16),
            rest.prefix(2).allSatisfy(\.isASCIILetterOrDigit),
            escaped.isASCIILetterOrDigit || "-._~".utf8.contains(escaped)
        {
            bytes.append(escaped)
            rest = rest.dropFirst(2)
        } else {
            bytes.append(byte)
        }
    }
    return String(decoding: bytes, as: UTF8.self)
}

/// Returns a path as the server knows it: all paths are served bare and below a real enrollment server's context path, and a
/// bank's calls also below that of PowerAuth Cloud.
package func withoutContextPath(_ path: Substring) -> Substring {
    if let rest = path.following("/enrollment-server") { return rest }
    guard let rest = path.following("/powerauth-cloud"),
        ["/v2/", "/admin/"].contains(where: { rest.utf8.starts(with: $0.utf8) })
    else { return path }
    return rest
}

extension Substring {
    /// Returns the rest of a path after a folder; `nil` if the path is outside it.
    fileprivate func following(_ folder: String) -> Self? {
        guard self.utf8.starts(with: folder.utf8) else { return nil }
        let rest = self.utf8.dropFirst(folder.utf8.count)
        return rest.isEmpty || rest.first == UInt8(ascii: "/") ? Self(rest) : nil
    }
}

/// Returns the pairs of a query or a form in order, form-decoded.
private func formPairs(_ encoded: Substring.UTF8View) -> [(name: String, value: String)] {
    encoded.split(separator: UInt8(ascii: "&")).map { pair in
        let sides = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        return (formDecoded(Substring(sides[0])), sides.count == 2 ? formDecoded(Substring(sides[1])) : "")
    }
}

/// Undoes form encoding; a percent sign that introduces no byte stays.
package func formDecoded(_ string: some StringProtocol) -> String { percentDecoded(string, plus: UInt8(ascii: " ")) }

/// Undoes percent-encoding; a percent sign that introduces no byte stays.
///
/// - Parameter plus: The byte for a plus sign.
func percentDecoded(_ string: some StringProtocol, plus: UInt8 = UInt8(ascii: "+")) -> String {
    var bytes: [UInt8] = []
    var rest = Substring(string).utf8
    while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "+") {
            bytes.append(plus)
        } else if byte == UInt8(ascii: "%"), let high = rest.first?.hexadecimalValue,
            let low = rest.dropFirst().first?.hexadecimalValue
        {
            bytes.append(high << 4 | low)
            rest = rest.dropFirst(2)
        } else {
            bytes.append(byte)
        }
    }
    return String(decoding: bytes, as: UTF8.self)
}
