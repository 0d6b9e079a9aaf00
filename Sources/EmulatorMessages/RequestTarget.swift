import Basics

extension ReceivedRequest {
    /// Splits a request target as it stood in the request line, and drops the context path of a real server.
    package init(method: String, target: String) {
        // A proxy's client may send the absolute form.
        var target = Substring(target)
        for scheme in ["http://", "https://"] where target.lowercased().hasPrefix(scheme) {
            let authority = target.dropFirst(scheme.count)
            target = authority.firstIndex(of: "/").map { authority[$0...] } ?? "/"
        }
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = withoutContextPath(parts.first ?? "/")
        self.init(method: method, path: path.isEmpty ? "/" : String(path))
        if parts.count == 2 { self.rawQuery = String(parts[1]) }
        self.query = self.rawQuery.split(separator: "&").map { pair in
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (formDecoded(sides[0]), sides.count == 2 ? formDecoded(sides[1]) : "")
        }
    }
}

/// A path as the server knows it: everything is served bare and under the context path of a real server.
package func withoutContextPath(_ path: Substring) -> Substring {
    let prefix = "/enrollment-server"
    return path == prefix || path.hasPrefix(prefix + "/") ? path.dropFirst(prefix.count) : path
}

/// Undoes form encoding; a percent sign that introduces no byte stays as it is.
package func formDecoded(_ string: some StringProtocol) -> String {
    var bytes: [UInt8] = []
    var rest = Substring(string).utf8
    while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "+") {
            bytes.append(UInt8(ascii: " "))
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
