/// A request as the backend sees it.
struct ReceivedRequest: Sendable {
    /// In capitals, as sent.
    var method: String
    /// Without the query and without the optional `/enrollment-server` prefix; percent-encoding is as sent.
    var path: String
    /// The query as sent, without its question mark; empty when there is none.
    var rawQuery: String = ""
    /// The pairs of the query in their order, form-decoded.
    var query: [(name: String, value: String)] = []
    /// The header fields in their order.
    var headers: [(name: String, value: String)] = []
    /// The whole body.
    var body: [UInt8] = []
    /// Where the server is found, `http://127.0.0.1:49152`; `nil` when nobody said.
    var origin: String?

    /// The first header field of this name; case does not matter.
    func header(_ name: String) -> String? {
        self.headers.first { $0.name.caseInsensitiveEquals(name) }?.value
    }

    /// The first value of this name in the query.
    func queryValue(_ name: String) -> String? {
        self.query.first { $0.name == name }?.value
    }
}
