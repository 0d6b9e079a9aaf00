import PowerAuth

/// The server's list of operations, and how to recognise that it comes again.
struct ServerList: Sendable {
    let list: OperationList
    private let comparison: ListAnswerComparison

    /// Reads an answer, but for what it repeats of the last. Operations whose identifier came before are left out and
    /// reported.
    init(_ answer: [UInt8], after last: Self?) throws(MobileTokenError) {
        let (list, comparison) = try OperationList.read(answer, after: last?.list)
        self.init(list: list.withoutRepetitions, comparison: comparison)
    }

    private init(list: OperationList, comparison: ListAnswerComparison) {
        self.list = list
        self.comparison = comparison
    }

    /// This list with the server's new time, when an answer says the same, which is found out without reading it.
    func repeated(by answer: [UInt8]) -> Self? {
        self.comparison.match(answer).map { match in
            let list = OperationList(
                operations: self.list.operations,
                currentTimestamp: match.currentTimestamp,
                issues: self.list.issues
            )
            return Self(list: list, comparison: self.comparison)
        }
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
