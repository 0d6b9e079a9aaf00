import CZlib
import EmulatorMessages

enum Compression {
    /// Returns bytes in the gzip format; `nil` if memory runs out.
    static func gzipped(_ bytes: [UInt8]) -> [UInt8]? {
        var stream = z_stream()
        // 15 is the largest window, 16 added selects the gzip format, and 8 is the default memory level.
        let (level, size) = (Z_DEFAULT_COMPRESSION, CInt(MemoryLayout<z_stream>.size))
        guard
            let count = UInt32(exactly: bytes.count),
            deflateInit2_(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK
        else { return nil }
        defer { deflateEnd(&stream) }
        var input = bytes  // zlib asks for a pointer through which it could write, and does not write
        let capacity = Int(clamping: deflateBound(&stream, uLong(count)))
        return input.withUnsafeMutableBufferPointer { input in
            stream.next_in = input.baseAddress
            stream.avail_in = count
            var isComplete = false
            let output = [UInt8](unsafeUninitializedCapacity: capacity) { output, length in
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(clamping: output.count)
                isComplete = deflate(&stream, Z_FINISH) == Z_STREAM_END
                length = isComplete ? Int(clamping: stream.total_out) : 0
            }
            return isComplete ? output : nil
        }
    }
}

extension ServerResponse {
    /// Returns the response, compressed if the client accepts that.
    func compressed(for request: ReceivedRequest) -> Self {
        var response = self
        response.headers.append(("Vary", "Accept-Encoding"))
        guard request.acceptsGzip, let bytes = Compression.gzipped(self.bytes) else { return response }
        response.headers.append(("Content-Encoding", "gzip"))
        response.body = .bytes(bytes)
        return response
    }

    /// The same response, compressed if it is long JSON, such as a list that the page shows, and the client takes that.
    func compressedIfLong(for request: ReceivedRequest) -> Self {
        guard self.bytes.count > 16_384,
            self.headers.contains(where: { $0.name == "Content-Type" && $0.value == "application/json" }),
            !self.headers.contains(where: { $0.name == "Vary" })
        else { return self }
        return self.compressed(for: request)
    }
}

extension ReceivedRequest {
    /// Indicates whether the client accepts gzip (RFC 9110, section 12.5.3).
    var acceptsGzip: Bool {
        (self.header("Accept-Encoding") ?? "").split(separator: ",").contains { element in
            let parts = element.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            // A weight of zero is a refusal.
            return parts.first == "gzip"
                && !parts.dropFirst().contains { ["q=0", "q=0.0", "q=0.00", "q=0.000"].contains($0) }
        }
    }
}
