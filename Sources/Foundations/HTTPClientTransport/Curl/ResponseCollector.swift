import Basics

/// Assembles a response from libcurl's data, within limits.
struct ResponseCollector {
    enum Overflow {
        case headers
        case body
    }

    private let maximumHeaderSize: Int
    private let maximumBodySize: Int
    /// The size of all headers, including interim responses and trailers, which are not kept.
    private var headerSize = 0
    private var fields: [HTTPHeaders.Field] = []
    private var status = 0
    private var isHeadComplete = false
    private var body: [UInt8] = []

    /// The exceeded limit, if any.
    private(set) var overflow: Overflow?

    init(maximumHeaderSize: Int, maximumBodySize: Int) {
        self.maximumHeaderSize = maximumHeaderSize
        self.maximumBodySize = maximumBodySize
    }

    /// Appends a complete header line, and returns whether to continue.
    mutating func appendHeaderLine(_ line: UnsafeRawBufferPointer) -> Bool {
        self.headerSize += line.count
        guard self.headerSize <= self.maximumHeaderSize else {
            self.overflow = .headers
            return false
        }
        guard !self.isHeadComplete else { return true }  // a trailer

        let content = Self.trimmed(line[...])
        if content.isEmpty {
            // An interim response (1xx) is followed by another head, which replaces it.
            self.isHeadComplete = self.status >= 200
        } else if content.starts(with: "HTTP/".utf8) {
            self.status = Self.status(inStatusLine: content)
            self.fields.removeAll(keepingCapacity: true)
        } else if let first = line.first, first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") {
            // A continuation line, obsolete but legal.
            guard var last = self.fields.popLast() else { return true }
            last.value += " " + String(decoding: content, as: UTF8.self)
            self.fields.append(last)
        } else if let colon = content.firstIndex(of: UInt8(ascii: ":")) {
            self.fields.append(
                HTTPHeaders.Field(
                    name: String(decoding: Self.trimmed(content[..<colon]), as: UTF8.self),
                    value: String(decoding: Self.trimmed(content[content.index(after: colon)...]), as: UTF8.self)
                )
            )
        }
        return true
    }

    /// Appends a decompressed part of the body, and returns whether to continue.
    mutating func appendBody(_ part: UnsafeRawBufferPointer) -> Bool {
        guard part.count <= self.maximumBodySize - self.body.count else {
            self.overflow = .body
            return false
        }
        self.body.append(contentsOf: part)
        return true
    }

    /// Returns the complete response; `nil` without a head.
    func response() -> HTTPResponse? {
        guard self.isHeadComplete else { return nil }
        return HTTPResponse(status: self.status, headers: HTTPHeaders(self.fields), body: self.body)
    }

    /// The response's status; `nil` before its head is complete.
    var receivedStatus: Int? { self.isHeadComplete ? self.status : nil }

    private static func status(inStatusLine line: Slice<UnsafeRawBufferPointer>) -> Int {
        let digits = line.drop { $0 != UInt8(ascii: " ") }.dropFirst().prefix(3)
        return Int(String(decoding: digits, as: UTF8.self)) ?? 0
    }

    private static func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
        bytes.trimming { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D || $0 == 0x0A }
    }
}
