/// Lends strings as libpq's array of pointers, terminated by `nil`.
func withCStrings<Result>(
    _ strings: [String],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result
) -> Result {
    let bytes = strings.map { Array($0.utf8CString) }
    var offsets: [Int] = []
    var all: [CChar] = []
    for string in bytes {
        offsets.append(all.count)
        all += string
    }
    return all.withUnsafeBufferPointer { all in
        let pointers = offsets.map { all.baseAddress?.advanced(by: $0) } + [nil]
        return pointers.withUnsafeBufferPointer { body($0.baseAddress) }
    }
}

/// Lends parameter values in binary form, with their lengths.
func withParameters<Result>(
    _ values: [[UInt8]?],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>, UnsafePointer<Int32>) -> Result
) -> Result {
    var offsets: [Int?] = []
    var all: [UInt8] = []
    all.reserveCapacity(values.reduce(0) { $0 + ($1?.count ?? 0) + 1 })
    for value in values {
        offsets.append(value == nil ? nil : all.count)
        // An extra byte gives an empty value an address, which distinguishes it from NULL.
        if let value {
            all += value
            all.append(0)
        }
    }
    let lengths = values.map { Int32(clamping: $0?.count ?? 0) }
    let formats = [Int32](repeating: 1, count: values.count)
    return all.withUnsafeBufferPointer { all in
        all.withMemoryRebound(to: CChar.self) { all in
            let pointers = offsets.map { offset in offset.flatMap { all.baseAddress?.advanced(by: $0) } }
            return pointers.withUnsafeBufferPointer { body($0.baseAddress, lengths, formats) }
        }
    }
}
