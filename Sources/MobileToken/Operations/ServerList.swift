import PowerAuth

/// The server's list of operations, and how to recognise that it comes again.
struct ServerList: Sendable {
    let list: OperationList
    private let comparison: ListAnswerComparison

    /// Reads an answer, but for what it repeats of the last.
    init(_ answer: [UInt8], after last: Self?) throws(MobileTokenError) {
        (self.list, self.comparison) = try OperationList.read(answer, after: last?.list)
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
