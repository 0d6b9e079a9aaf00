import CZlib
import EmulatorMessages

/// Compression by zlib.
enum Compression {
    /// Returns bytes in the gzip format; `nil` when there is no memory for it.
    static func gzipped(_ bytes: [UInt8]) -> [UInt8]? {
        var stream = z_stream()
        // 15 is the largest window, 16 more ask for the gzip format, and 8 is the default of memory.
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

extension ReceivedRequest {
    /// Indicates whether the client has named gzip among the codings that it takes (RFC 9110, section 12.5.3).
    var acceptsGzip: Bool {
        (self.header("Accept-Encoding") ?? "").split(separator: ",").contains { element in
            let parts = element.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            // A weight of nothing is a refusal.
            return parts.first == "gzip"
                && !parts.dropFirst().contains { ["q=0", "q=0.0", "q=0.00", "q=0.000"].contains($0) }
        }
    }
}
