import Basics
import CCurl

/// The characters allowed in headers, so that external values cannot add lines to a request.
enum HeaderSyntax {
    /// Returns whether `string` is a token, as header names must be.
    static func isName(_ string: String) -> Bool {
        !string.isEmpty && string.allBytes(\.isHTTPNameCharacter)
    }

    /// Returns whether `string` contains no control characters but tabs.
    static func isValue(_ string: String) -> Bool {
        string.allBytes(\.isHTTPValueCharacter)
    }
}

extension HTTPRequest {
    /// Returns the URL's scheme and authority in lower case, by which connections are counted.
    ///
    /// - Throws: ``HTTPTransportError/Code/invalidRequest`` unless this is a plausible absolute `http` or `https` URL. libcurl
    ///   parses it again; this refuses URLs that libcurl would silently repair or take as options.
    func origin() throws(HTTPTransportError) -> String {
        let bytes = self.url.utf8
        guard self.url.allBytes({ $0 > 0x20 && $0 < 0x7F }) else {
            throw HTTPTransportError(
                .invalidRequest,
                detail: "the URL has a space, a control character or a non-ASCII character"
            )
        }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8),
            ["http", "https"].contains(where: self.url[..<colon].equalsIgnoringASCIICase)
        else {
            throw HTTPTransportError(.invalidRequest, detail: "the URL is not an absolute http or https URL")
        }
        let start = bytes.index(colon, offsetBy: 3)
        let end = bytes[start...].firstIndex { Self.authorityEnds.contains($0) } ?? bytes.endIndex
        let authority = bytes[start..<end]
        guard let first = authority.first, first != UInt8(ascii: ":") else {
            throw HTTPTransportError(.invalidRequest, detail: "the URL has no host")
        }
        guard !authority.contains(UInt8(ascii: "@")) else {
            throw HTTPTransportError(.invalidRequest, detail: "the URL has credentials; send them in a header")
        }
        return self.url[..<end].lowercased()
    }

    private static let authorityEnds = [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "\\")]

    /// Throws for headers that would break their line or contradict libcurl's framing.
    func validateHeaders() throws(HTTPTransportError) {
        for field in self.headers.fields {
            guard HeaderSyntax.isName(field.name), HeaderSyntax.isValue(field.value) else {
                throw HTTPTransportError(.invalidRequest, detail: "a header has a character that is not allowed")
            }
        }
        guard self.headers["Content-Length"] == nil, self.headers["Transfer-Encoding"] == nil else {
            throw HTTPTransportError(.invalidRequest, detail: "the transport frames the body itself")
        }
    }
}

extension CurlTransport.Proxy {
    /// Throws for a proxy that libcurl does not support, which would otherwise fail at each request like an unreachable server.
    func validate() throws(HTTPTransportError) {
        guard case .url(let url) = self.kind else { return }
        let mistake = HTTPTransportError(
            .invalidConfiguration,
            detail: "the proxy is no URL of http, https, socks4, socks4a, socks5 or socks5h"
        )
        guard url.allBytes({ $0 > 0x20 && $0 < 0x7F }), let parsed = curl_url() else { throw mistake }
        defer { curl_url_cleanup(parsed) }
        let scheme = url.lowercased().utf8.prefix { $0 != UInt8(ascii: ":") }
        guard
            ["http", "https", "socks4", "socks4a", "socks5", "socks5h"].contains(where: {
                scheme.elementsEqual($0.utf8)
            }),
            curl_url_set(parsed, CURLUPART_URL, url, UInt32(CURLU_NON_SUPPORT_SCHEME)) == CURLUE_OK
        else { throw mistake }
    }
}

extension String {
    /// Returns whether all bytes satisfy `isAllowed`. Several times faster than the UTF-8 view.
    fileprivate func allBytes(_ isAllowed: (UInt8) -> Bool) -> Bool {
        self.utf8.withContiguousStorageIfAvailable { $0.allSatisfy(isAllowed) } ?? self.utf8.allSatisfy(isAllowed)
    }
}
