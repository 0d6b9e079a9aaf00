/// What distinguishes one list of operations from another, found in one walk along both.
///
/// Lists of a server that is polled keep their order nearly always: the walk compares neighbours and, where they differ,
/// looks a few places ahead. Only what it leaves over is matched by identifier.
package struct OperationListDifference {
    private static let lookAhead = 8

    package private(set) var added: [UserOperation] = []
    package private(set) var updated: [OperationListChange.Update] = []
    package private(set) var removed: [UserOperation] = []

    /// Both lists hold every identifier once. A mere change of order is no difference.
    package init(from old: [UserOperation], to new: [UserOperation]) {
        var oldLeftovers: [Int] = []
        var newLeftovers: [Int] = []
        var oldIndex = 0
        var newIndex = 0
        while oldIndex < old.count, newIndex < new.count {
            if old[oldIndex].id == new[newIndex].id {
                self.compare(old[oldIndex], new[newIndex])
                oldIndex += 1
                newIndex += 1
            } else if let next = Self.find(new[newIndex].id, in: old, after: oldIndex) {
                oldLeftovers.append(contentsOf: oldIndex..<next)
                oldIndex = next
            } else if let next = Self.find(old[oldIndex].id, in: new, after: newIndex) {
                newLeftovers.append(contentsOf: newIndex..<next)
                newIndex = next
            } else {
                oldLeftovers.append(oldIndex)
                newLeftovers.append(newIndex)
                oldIndex += 1
                newIndex += 1
            }
        }
        oldLeftovers.append(contentsOf: oldIndex..<old.count)
        newLeftovers.append(contentsOf: newIndex..<new.count)

        var moved = Dictionary(
            oldLeftovers.map { (old[$0].id, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        for index in newLeftovers {
            if let from = moved.removeValue(forKey: new[index].id) {
                self.compare(old[from], new[index])
            } else {
                self.added.append(new[index])
            }
        }
        self.removed = moved.isEmpty ? [] : oldLeftovers.filter { moved[old[$0].id] == $0 }.map { old[$0] }
    }

    private mutating func compare(_ old: UserOperation, _ new: UserOperation) {
        if old != new { self.updated.append(.init(old: old, new: new)) }
    }

    private static func find(_ id: String, in list: [UserOperation], after index: Int) -> Int? {
        var candidate = index + 1
        let end = min(index + self.lookAhead, list.count - 1)
        while candidate <= end {
            if list[candidate].id == id { return candidate }
            candidate += 1
        }
        return nil
    }
}
