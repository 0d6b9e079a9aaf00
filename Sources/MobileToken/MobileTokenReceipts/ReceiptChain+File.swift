extension ReceiptChain {
    /// Adds all lines of a file, and passes each on.
    ///
    /// - Returns: The number of bytes after the last complete line; 0 except in the last file.
    /// - Throws: ``ReceiptFault``, or an error if the file is unreadable.
    mutating func add(
        _ file: inout ReceiptFile,
        isLast: Bool,
        each: (ReceiptLine) -> Void = { _ in }
    ) throws -> Int {
        var number = 0
        while true {
            number += 1
            do {
                switch try file.next() {
                case .line(let bytes): each(try self.add(bytes))
                case .rest(let rest):
                    guard rest.isEmpty || (isLast && rest.count <= ReceiptFile.maximumLineByteCount) else {
                        throw ReceiptFault.Reason.incomplete
                    }
                    return rest.count
                }
            } catch let reason as ReceiptFault.Reason {
                throw ReceiptFault(file: file.path, line: number, reason: reason)
            }
        }
    }
}
