import Basics

/// Indicates whether there is one reading only of a request's head.
///
/// The library joins folded lines, ends what it reads at a zero byte, and takes a lone line feed for the end of a line, all
/// without a word: `Content-Length:` and, on the next line, ` 2` become one field. A proxy in front of the server, or a
/// reader of its logs, may see another request. What the library has left of the head in its buffer tells: it puts
/// zeros in the place of the separators and moves nothing.
struct RequestHead {
    /// The place of the request line's method in the library's buffer, which is where the head begins.
    var method: UnsafeRawPointer
    /// The place of the request line's target in the library's buffer. It may have been decoded in place since: only the place counts.
    var targetAddress: UInt
    /// The length of the target for the library.
    var targetCount: Int
    /// The place of the request line's version in the library's buffer.
    var version: UnsafeRawPointer
    /// The length of the head in bytes, from the method to the end of the empty line.
    var size: Int

    var isUnambiguous: Bool {
        // A target with a zero byte is longer than the library believes.
        guard UInt(bitPattern: self.version) == self.targetAddress &+ UInt(self.targetCount) &+ 1 else { return false }
        let before = self.version - self.method
        guard before > 0, before < self.size else { return false }
        return Self.hasPlainLines(UnsafeRawBufferPointer(start: self.version, count: self.size - before))
    }

    /// Indicates whether the bytes from the version on are lines of the form `name: value`, one for each field, then an empty one.
    /// Zeros stand for the first colon of each line, and for each byte of a line's end.
    static func hasPlainLines(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = bytes[...]
        guard !self.upToZero(&rest).isEmpty, self.takeLineEnd(&rest) else { return false }
        while let first = rest.first, first != 0 {
            // A line that begins with a blank goes on with the one before.
            guard first != UInt8(ascii: " "), first != UInt8(ascii: "\t") else { return false }
            _ = self.upToZero(&rest)
            guard rest.popFirst() == 0 else { return false }
            // Some take a lone carriage return for the end of a line, and no other control character belongs here either.
            guard self.upToZero(&rest).allSatisfy(\.isHTTPValueCharacter), self.takeLineEnd(&rest) else { return false }
        }
        return self.takeLineEnd(&rest) && rest.isEmpty
    }

    private static func upToZero(_ rest: inout Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
        let taken = rest.prefix { $0 != 0 }
        rest = rest.dropFirst(taken.count)
        return taken
    }

    private static func takeLineEnd(_ rest: inout Slice<UnsafeRawBufferPointer>) -> Bool {
        rest.popFirst() == 0 && rest.popFirst() == 0
    }
}
