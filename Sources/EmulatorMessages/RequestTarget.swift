import Basics

extension ReceivedRequest {
    /// Splits a request target as it stood in the request line, and drops the context path of a real server.
    package init(method: String, target: String) {
        // By bytes: to a `String`, a question mark with a combining mark behind it is no question mark.
        var target = Substring(target).utf8
        // A proxy's client may send the absolute form.
        for scheme in ["http://", "https://"]
        where Substring(target.prefix(scheme.utf8.count)).equalsIgnoringASCIICase(scheme) {
            let authority = target.dropFirst(scheme.utf8.count)
            target = authority.firstIndex(of: UInt8(ascii: "/")).map { authority[$0...] } ?? Substring("/").utf8
        }
        let parts = target.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        let path = withoutContextPath(parts.first.map { Substring($0) } ?? "/")
        self.init(method: method, path: path.isEmpty ? "/" : String(path))
        if parts.count == 2 { self.rawQuery = String(Substring(parts[1])) }
        self.query = formPairs(self.rawQuery[...].utf8)
    }
}

/// A path as the server knows it: everything is served bare and under the context path of a real enrollment server, and what a
/// bank calls under that of PowerAuth Cloud too.
package func withoutContextPath(_ path: Substring) -> Substring {
    if let rest = path.following("/enrollment-server") { return rest }
    guard let rest = path.following("/powerauth-cloud"),
        ["/v2/", "/admin/"].contains(where: { rest.utf8.starts(with: $0.utf8) })
    else { return path }
    return rest
}

extension Substring {
    /// Returns the rest of a path after a folder; `nil` for a path that is not in it.
    fileprivate func following(_ folder: String) -> Self? {
        let rest = self.utf8.dropFirst(folder.utf8.count)
        guard self.utf8.starts(with: folder.utf8), rest.isEmpty || rest.first == UInt8(ascii: "/") else { return nil }
        return Self(rest)
    }
}

/// The pairs of a query or a form in their order, form-decoded.
private func formPairs(_ encoded: Substring.UTF8View) -> [(name: String, value: String)] {
    encoded.split(separator: UInt8(ascii: "&")).map { pair in
        let sides = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        return (formDecoded(Substring(sides[0])), sides.count == 2 ? formDecoded(Substring(sides[1])) : "")
    }
}

/// Undoes form encoding; a percent sign that introduces no byte stays as it is.
package func formDecoded(_ string: some StringProtocol) -> String { percentDecoded(string, plus: UInt8(ascii: " ")) }

/// Undoes percent-encoding; a percent sign that introduces no byte stays as it is.
///
/// - Parameter plus: The byte that a plus sign stands for.
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
