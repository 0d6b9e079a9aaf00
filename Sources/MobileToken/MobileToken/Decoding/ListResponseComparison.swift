import ExactJSON
package import Foundation
package import MobileTokenErrors

/// Recognizes, without decoding, a response that differs from the last only in the server's time.
///
/// Most polls change nothing. The position of the top-level `currentTimestamp` in the last response is known. A response with the
/// same bytes before and after that position has the same structure, so only the time can differ. In doubt the response counts as
/// changed, and is decoded.
package struct ListResponseComparison: Sendable {
    private let bytes: [UInt8]
    /// The position of the only top-level `currentTimestamp`, if there is one.
    private let timestamp: Range<Int>?

    /// A response that repeats the last one.
    package struct Match: Sendable, Equatable {
        /// The server's time in the new response, if present and readable.
        package let currentTimestamp: Date?

        package init(currentTimestamp: Date?) { self.currentTimestamp = currentTimestamp }
    }

    init(_ root: JSONView) {
        self.bytes = root.document.bytes
        self.timestamp = root["currentTimestamp"]?.range
    }

    /// Compares `next` with the remembered response, ignoring the time.
    package func match(_ next: [UInt8]) -> Match? {
        guard let timestamp else {
            return self.bytes.hasSameBytes(as: next) ? Match(currentTimestamp: nil) : nil
        }
        let tail = timestamp.upperBound..<self.bytes.count
        guard let end = Self.endOfScalar(in: next, from: timestamp.lowerBound), next.count - end == tail.count,
            self.bytes.hasSameBytes(in: tail, as: next, from: end),
            self.bytes.hasSameBytes(in: 0..<timestamp.lowerBound, as: next, from: 0)
        else {
            // The time has an unusual form, so only identical bytes match.
            return self.bytes.hasSameBytes(as: next)
                ? Match(currentTimestamp: self.date(in: timestamp, of: next)) : nil
        }
        return Match(currentTimestamp: self.date(in: timestamp.lowerBound..<end, of: next))
    }

    /// Returns the end of a number, or of a string of printable ASCII without escapes; otherwise nil.
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
    /// Reads a response, and remembers it for comparison.
    package static func read(_ bytes: [UInt8]) throws(MobileTokenError) -> (OperationList, ListResponseComparison) {
        let response = try SuccessResponse(parsing: bytes)
        return (try OperationList(response), ListResponseComparison(response.root))
    }
}
