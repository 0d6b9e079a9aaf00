/// Something that reads outside input, and what must hold of it for any bytes.
struct FuzzTarget: Sendable {
    let name: String
    let run: @Sendable (_ input: [UInt8]) -> Void

    init(_ name: String, _ run: @escaping @Sendable (_ input: [UInt8]) throws -> Void) {
        self.name = name
        // A refusal is as good as a value; only what traps, or what `hold` finds, is a defect.
        self.run = { input in try? run(input) }
    }

    static let all =
        jsonTargets + protocolTargets + oidcTargets + operationTargets + storeTargets + emulatorTargets
        + controlTargets + version4Targets
}

/// Ends the process when a property does not hold, as libFuzzer expects of a defect.
func hold(_ property: Bool, _ description: @autoclosure () -> String, line: Int = #line) {
    guard !property else { return }
    fatalError("line \(line): \(description())")
}

/// Reads twice: the same bytes must give the same value, or no value both times.
@discardableResult
func readTwice<Value: Equatable>(_ read: () throws -> Value) throws -> Value {
    let first = Result { try read() }
    let second = Result { try read() }
    switch (first, second) {
    case (.success(let one), .success(let two)): hold(one == two, "two readings differ")
    case (.failure, .failure): break
    default: hold(false, "one reading failed, the other did not")
    }
    return try first.get()
}

/// Takes fields off the front of an input, so that the fuzzer can vary several values at once.
struct InputReader {
    private(set) var rest: ArraySlice<UInt8>

    init(_ input: [UInt8]) { self.rest = input[...] }

    mutating func byte() -> UInt8 { self.rest.popFirst() ?? 0 }

    mutating func bytes(_ count: Int) -> [UInt8] {
        defer { self.rest = self.rest.dropFirst(count) }
        return Array(self.rest.prefix(count))
    }

    /// Returns the text before the next line end, or all that is left.
    mutating func line() -> String {
        let end = self.rest.firstIndex(of: 0x0A) ?? self.rest.endIndex
        defer { self.rest = self.rest[end...].dropFirst() }
        return String(decoding: self.rest[..<end], as: UTF8.self)
    }
}

extension [UInt8] {
    var text: String { String(decoding: self, as: UTF8.self) }
}
