import Basics

/// A request as the server received it.
package struct ReceivedRequest: Sendable {
    /// The method in capitals, as sent.
    package var method: String
    /// The path without the query and without the optional context path, `/enrollment-server` or `/powerauth-cloud`;
    /// percent-encoded as sent.
    package var path: String
    /// The query as sent, without its question mark; may be empty.
    package var rawQuery: String = ""
    /// The pairs of the query in order, form-decoded.
    package var query: [(name: String, value: String)] = []
    /// The header fields in order.
    package var headers: [(name: String, value: String)] = []
    package var body: [UInt8] = []
    /// The address of the server or the space, `http://127.0.0.1:49152`; `nil` if unknown.
    package var origin: String?
    /// The client's numeric address; `nil` without a connection.
    package var peerAddress: String?

    package init(
        method: String,
        path: String,
        query: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)] = [],
        body: [UInt8] = []
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
    }

    /// Returns the first header field with this name, ignoring case.
    package func header(_ name: String) -> String? {
        self.headers.first { $0.name.equalsIgnoringASCIICase(name) }?.value
    }

    /// Indicates whether the body is declared as JSON: `application/json` or a type that ends in `+json`.
    package var isJSON: Bool {
        guard let value = self.header("Content-Type") else { return false }
        if value == "application/json" { return true }
        let type = value.utf8.prefix { $0 != UInt8(ascii: ";") }
        let name = type.lazy.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }.map(\.asciiLowercased)
        return name.elementsEqual("application/json".utf8)
            || name.starts(with: "application/".utf8) && name.reversed().starts(with: "+json".utf8.reversed())
    }

    /// Returns the first value with this name in the query.
    package func queryValue(_ name: String) -> String? {
        self.query.first { $0.name == name }?.value
    }
}
