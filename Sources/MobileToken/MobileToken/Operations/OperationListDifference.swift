/// The difference between two lists of operations, matched by identifier. A server lists at most about a hundred.
package struct OperationListDifference {
    package private(set) var added: [UserOperation] = []
    package private(set) var updated: [OperationList.Change.Update] = []
    package private(set) var removed: [UserOperation] = []

    /// Compares two lists with unique identifiers, ignoring order.
    package init(from old: [UserOperation], to new: [UserOperation]) {
        var rest = Dictionary(old.map { ($0.identity, $0) }, uniquingKeysWith: { first, _ in first })
        for operation in new {
            if let before = rest.removeValue(forKey: operation.identity) {
                if before != operation { self.updated.append(.init(old: before, new: operation)) }
            } else {
                self.added.append(operation)
            }
        }
        self.removed = rest.isEmpty ? [] : old.filter { rest[$0.identity] != nil }
    }
}
