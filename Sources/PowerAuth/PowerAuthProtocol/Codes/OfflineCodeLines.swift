/// The unverified lines of an offline QR code: identifier, title, message, operation data, flags, optionally a one-time code and
/// lines of later formats, nonce, and the number of the server's key with its signature.
package struct OfflineCodeLines: Sendable {
    package let operationID: ArraySlice<UInt8>
    package let title: ArraySlice<UInt8>
    package let message: ArraySlice<UInt8>
    package let data: ArraySlice<UInt8>
    package let flags: ArraySlice<UInt8>
    package let oneTimeCode: ArraySlice<UInt8>?
    package let later: ArraySlice<ArraySlice<UInt8>>
    package let nonce: ArraySlice<UInt8>
    package let signature: ArraySlice<UInt8>
    package let count: Int

    package struct MissingLine: Error {
        /// The number of the first missing line, from 1.
        package let line: Int
    }

    /// Splits the content of a code.
    package init(_ bytes: [UInt8]) throws(MissingLine) {
        // Scanners that act as keyboards append a line end.
        let bytes = bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes[...]
        // Split bytes at LF: a `Character` may consist of CR and LF.
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard lines.count >= 7 else { throw MissingLine(line: lines.count + 1) }
        (self.operationID, self.title, self.message) = (lines[0], lines[1], lines[2])
        (self.data, self.flags) = (lines[3], lines[4])
        self.oneTimeCode = lines.count > 7 ? lines[5] : nil
        self.later = lines[5..<(lines.count - 2)].dropFirst()
        (self.nonce, self.signature) = (lines[lines.count - 2], lines[lines.count - 1])
        self.count = lines.count
    }
}
