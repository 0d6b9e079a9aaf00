import Foundation
import HTTPClientTransport
import Testing

/// The page of an OpenID provider, fetched and sent off as a browser does that.
struct SignInPage {
    let url: String
    let response: HTTPResponse
    var html: String { String(decoding: self.response.body, as: UTF8.self) }

    init(_ url: String) async throws {
        self.url = url
        self.response = try await CurlTransport.shared.send(HTTPRequest(.get, url: url))
    }

    /// Presses a button of the page's one form; returns the address that the browser is led to.
    func press(_ decision: String, user: String? = nil) async throws -> String {
        try #require(self.response.status == 200, "\(self.html)")
        // The form has no action, so it goes back to where the page came from, query and all.
        #expect(self.html.contains(#"<form method="post">"#))
        #expect(self.html.contains(#"name="decision" value="\#(decision)""#))
        if user != nil { #expect(self.html.contains(#"<input name="user""#)) }
        var fields = URLComponents()
        fields.queryItems =
            (user.map { [URLQueryItem(name: "user", value: $0)] } ?? [])
            + [URLQueryItem(name: "decision", value: decision)]
        let response = try await CurlTransport.shared.send(
            HTTPRequest(
                .post,
                url: self.url,
                headers: ["Content-Type": "application/x-www-form-urlencoded"],
                body: Array((fields.percentEncodedQuery ?? "").utf8)
            )
        )
        try #require(response.status == 303)
        return try #require(response.headers["Location"])
    }
}

extension CurlTransport {
    /// What the browser of these tests sends with.
    static let shared: CurlTransport = {
        do { return try CurlTransport() } catch { preconditionFailure("\(error)") }
    }()
}
