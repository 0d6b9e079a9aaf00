import PowerAuth

/// The server's list of operations, with the bytes it was read from.
struct ServerList: Sendable {
    let list: OperationList
    private let answer: [UInt8]

    /// Reads an answer. Operations whose identifier came before are left out and reported.
    init(_ answer: [UInt8]) throws {
        self.list = try OperationList(parsing: answer).withoutRepetitions
        self.answer = answer
    }

    /// Whether an answer says the same as this one, which is found out without reading it.
    func isRepeated(by answer: [UInt8]) -> Bool {
        self.answer == answer
    }
}

extension OperationList {
    fileprivate var withoutRepetitions: Self {
        var seen = Set<String>(minimumCapacity: self.operations.count)
        var repetitions: [DecodingIssue] = []
        let operations = self.operations.enumerated().filter { index, operation in
            if seen.insert(operation.id).inserted { return true }
            repetitions.append(
                DecodingIssue(path: "responseObject[\(index)].id", reason: .repeated, json: operation.json)
            )
            return false
        }
        guard !repetitions.isEmpty else { return self }
        return Self(
            operations: operations.map(\.element),
            currentTimestamp: self.currentTimestamp,
            issues: self.issues + repetitions
        )
    }
}
