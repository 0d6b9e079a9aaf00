import Basics

/// What may stand in a header, so that a value from outside cannot add a line to the request.
enum HeaderSyntax {
    /// Whether `text` is a token, the only thing that a header may be named.
    static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.allBytes(\.isHTTPNameCharacter)
    }

    /// Whether `text` holds no control character but the tab.
    static func isValue(_ text: String) -> Bool {
        text.allBytes(\.isHTTPValueCharacter)
    }
}

extension HTTPRequest {
    /// The scheme and the authority of the URL in lower case: what connections are counted by.
    ///
    /// - Throws: ``HTTPTransportError/Code/invalidRequest`` unless this is a plausible absolute `http` or `https` URL.
    ///   libcurl parses it again, and strictly; this keeps out what it would repair silently or read as an option.
    func origin() throws(HTTPTransportError) -> String {
        let bytes = self.url.utf8
        guard self.url.allBytes({ $0 > 0x20 && $0 < 0x7F }) else {
            throw HTTPTransportError(.invalidRequest, detail: "the URL holds a blank, control or non-ASCII character")
        }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8),
            ["http", "https"].contains(self.url[..<colon].lowercased())
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
            throw HTTPTransportError(.invalidRequest, detail: "the URL holds credentials; send them in a header")
        }
        return self.url[..<end].lowercased()
    }

    private static let authorityEnds = [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "\\")]

    /// Refuses headers that would break out of their line, or contradict the framing that libcurl chooses.
    func validateHeaders() throws(HTTPTransportError) {
        for field in self.headers.fields {
            guard HeaderSyntax.isName(field.name), HeaderSyntax.isValue(field.value) else {
                throw HTTPTransportError(.invalidRequest, detail: "a header holds a character that it must not")
            }
        }
        guard self.headers["Content-Length"] == nil, self.headers["Transfer-Encoding"] == nil else {
            throw HTTPTransportError(.invalidRequest, detail: "the transport frames the body itself")
        }
    }
}

extension String {
    /// Whether all bytes of the text are as told: several times as quick as asking its view of UTF-8, which looks anew at
    /// how the text is stored for each byte.
    fileprivate func allBytes(_ isAllowed: (UInt8) -> Bool) -> Bool {
        self.utf8.withContiguousStorageIfAvailable { $0.allSatisfy(isAllowed) } ?? self.utf8.allSatisfy(isAllowed)
    }
}
