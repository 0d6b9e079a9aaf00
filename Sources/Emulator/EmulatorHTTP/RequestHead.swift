import Basics
import Glibc

/// A request's head, checked for ambiguity.
///
/// The library silently joins folded lines, cuts at a zero byte, and accepts a lone line feed as a line end: `Content-Length:`
/// followed by a line ` 2` becomes one field. A proxy or a log reader may read such a request differently. The head's remains in
/// the library's buffer reveal this: the library replaces separators by zeros and moves nothing.
struct RequestHead {
    /// The method in the library's buffer, where the head begins.
    var method: UnsafeRawPointer
    /// The address of the target in the library's buffer. The target may have been decoded in place, so only its address counts.
    var targetAddress: UInt
    /// The length of the target according to the library.
    var targetCount: Int
    /// The version in the library's buffer.
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

    /// Indicates whether the bytes from the version on are lines of the form `name: value`, one per field, and a final empty one.
    /// Zeros replace each line's first colon and each byte of its end.
    static func hasPlainLines(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var rest = bytes[...]
        guard !self.upToZero(&rest).isEmpty, self.takeLineEnd(&rest) else { return false }
        while let first = rest.first, first != 0 {
            // A line that begins with white space continues the previous one.
            guard first != UInt8(ascii: " "), first != UInt8(ascii: "\t") else { return false }
            _ = self.upToZero(&rest)
            guard rest.popFirst() == 0 else { return false }
            // Some readers take a lone carriage return for a line end, and other control characters are also invalid.
            guard self.upToZero(&rest).allSatisfy(\.isHTTPValueCharacter), self.takeLineEnd(&rest) else { return false }
        }
        return self.takeLineEnd(&rest) && rest.isEmpty
    }

    private static func upToZero(_ rest: inout Slice<UnsafeRawBufferPointer>) -> UnsafeRawBufferPointer {
        let bytes = UnsafeRawBufferPointer(rebasing: rest)
        let count = bytes.baseAddress.map { strnlen($0.assumingMemoryBound(to: CChar.self), bytes.count) } ?? 0
        rest = rest.dropFirst(count)
        return UnsafeRawBufferPointer(rebasing: bytes.prefix(count))
    }

    private static func takeLineEnd(_ rest: inout Slice<UnsafeRawBufferPointer>) -> Bool {
        rest.popFirst() == 0 && rest.popFirst() == 0
    }
}
