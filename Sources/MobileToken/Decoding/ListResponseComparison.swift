import ExactJSON
package import Foundation
package import PowerAuth
import PowerAuthProtocol

/// Recognizes a response that says the same as the one before, but for the server's time, without decoding it.
///
/// Most polls change nothing. The last response was read with care, so the place of its top-level `currentTimestamp` is
/// known; a response that has the same bytes before and after that place has the same structure, and only the time can
/// be different. Whatever is in doubt counts as a change: then the response is decoded.
package struct ListResponseComparison: Sendable {
    private let bytes: [UInt8]
    /// The place of the one top-level `currentTimestamp`, if there is one.
    private let timestamp: Range<Int>?

    /// A response that says the same as the last.
    package struct Match: Sendable, Equatable {
        /// The server's time in the new response, if it is there and can be read.
        package let currentTimestamp: Date?

        package init(currentTimestamp: Date?) { self.currentTimestamp = currentTimestamp }
    }

    init(_ root: JSONView) {
        self.bytes = root.document.bytes
        self.timestamp = root["currentTimestamp"]?.range
    }

    /// Returns whether `next` is the remembered response but for the time.
    package func match(_ next: [UInt8]) -> Match? {
        guard let timestamp else {
            return self.bytes.hasSameBytes(as: next) ? Match(currentTimestamp: nil) : nil
        }
        let tail = timestamp.upperBound..<self.bytes.count
        guard let end = Self.endOfScalar(in: next, from: timestamp.lowerBound), next.count - end == tail.count,
            self.bytes.hasSameBytes(in: tail, as: next, from: end),
            self.bytes.hasSameBytes(in: 0..<timestamp.lowerBound, as: next, from: 0)
        else {
            // A value in an unusual form: the same again is still the same.
            return self.bytes.hasSameBytes(as: next)
                ? Match(currentTimestamp: self.date(in: timestamp, of: next)) : nil
        }
        return Match(currentTimestamp: self.date(in: timestamp.lowerBound..<end, of: next))
    }

    /// Returns the end of a plain value: a number, or a string of printable ASCII without escapes. Anything else is
    /// nil.
    private static func endOfScalar(in bytes: [UInt8], from start: Int) -> Int? {
        guard start < bytes.count else { return nil }
        guard bytes[start] == UInt8(ascii: "\"") else { return JSONNumber.endOfLiteral(in: bytes, from: start) }
        for index in (start + 1)..<max(bytes.count, start + 1) {
            switch bytes[index] {
            case UInt8(ascii: "\""): return index + 1
            case UInt8(ascii: "\\"): return nil
            case 0x20...0x7E: continue
            default: return nil
            }
        }
        return nil
    }

    private func date(in range: Range<Int>, of bytes: [UInt8]) -> Date? {
        guard range.count > 2 else { return nil }
        return ISO8601.date(from: String(decoding: bytes[range].dropFirst().dropLast(), as: UTF8.self))
    }
}

extension OperationList {
    /// Reads a response and remembers it, to recognize it when it comes again.
    package static func read(_ bytes: [UInt8]) throws(MobileTokenError) -> (OperationList, ListResponseComparison) {
        let response = try SuccessResponse(parsing: bytes)
        return (try OperationList(response), ListResponseComparison(response.root))
    }
}
