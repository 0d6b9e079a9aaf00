// Headers contain credentials and bodies private data, so descriptions and mirrors show neither.

extension HTTPHeaders.Field: CustomStringConvertible, CustomReflectable {
    private static let plain: Set = [
        "accept", "accept-encoding", "accept-language", "cache-control", "connection", "content-encoding",
        "content-length", "content-type", "date", "expires", "host", "retry-after", "server", "user-agent", "vary",
    ]

    /// The field, with `***` for a value that may be secret.
    public var description: String {
        "\(self.name): \(Self.plain.contains(self.name.lowercased()) ? self.value : "***")"
    }
    /// Empty, so that `dump` reveals nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPHeaders: CustomStringConvertible, CustomReflectable {
    /// The fields, with `***` for values that may be secret.
    public var description: String { "[\(self.fields.map(\.description).joined(separator: ", "))]" }
    /// Empty, so that `dump` reveals nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPRequest: CustomStringConvertible, CustomReflectable {
    /// The method, the URL without its query, the headers without secrets, and the body's length.
    public var description: String {
        let address = self.url.prefix { $0 != "?" }
        let body = self.body.map { ", \($0.count) bytes" } ?? ""
        return
            "\(self.method.rawValue) \(address)\(address.count < self.url.count ? "?***" : "") \(self.headers)\(body)"
    }
    /// Empty, so that `dump` reveals nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension HTTPResponse: CustomStringConvertible, CustomReflectable {
    /// The status, the headers without secrets, and the body's length.
    public var description: String { "\(self.status) \(self.headers), \(self.body.count) bytes" }
    /// Empty, so that `dump` reveals nothing.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
