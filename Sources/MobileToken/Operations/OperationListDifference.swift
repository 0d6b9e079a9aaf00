/// What distinguishes one list of operations from another, found in one walk along both.
///
/// Lists of a server that is polled keep their order nearly always: the walk compares neighbours and, where they differ,
/// looks for the nearest place at which both go on alike. Only what it leaves over is matched by identifier.
package struct OperationListDifference {
    /// How many comparisons the search for such places may cost for each operation, so that two lists without any common
    /// order take little longer than matching them by identifier.
    private static let searchesPerOperation = 8

    package private(set) var added: [UserOperation] = []
    package private(set) var updated: [OperationListChange.Update] = []
    package private(set) var removed: [UserOperation] = []

    /// Compares two lists, each of which holds every identifier once. A mere change of order is no difference.
    package init(from old: [UserOperation], to new: [UserOperation]) {
        var searches = Self.searchesPerOperation * (old.count + new.count)
        var oldLeftovers: [Int] = []
        var newLeftovers: [Int] = []
        var oldIndex = 0
        var newIndex = 0
        while oldIndex < old.count, newIndex < new.count {
            if old[oldIndex].identity == new[newIndex].identity {
                self.compare(old[oldIndex], new[newIndex])
                oldIndex += 1
                newIndex += 1
            } else {
                let skip = Self.distanceToMeeting(of: old[oldIndex...], new[newIndex...], &searches) ?? (1, 1)
                oldLeftovers.append(contentsOf: oldIndex..<(oldIndex + skip.old))
                newLeftovers.append(contentsOf: newIndex..<(newIndex + skip.new))
                oldIndex += skip.old
                newIndex += skip.new
            }
        }
        oldLeftovers.append(contentsOf: oldIndex..<old.count)
        newLeftovers.append(contentsOf: newIndex..<new.count)

        guard !oldLeftovers.isEmpty, !newLeftovers.isEmpty else {
            self.removed = oldLeftovers.map { old[$0] }
            self.added = newLeftovers.map { new[$0] }
            return
        }
        var moved = Dictionary(
            oldLeftovers.map { (old[$0].identity, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        for index in newLeftovers {
            if let from = moved.removeValue(forKey: new[index].identity) {
                self.compare(old[from], new[index])
            } else {
                self.added.append(new[index])
            }
        }
        self.removed = moved.isEmpty ? [] : oldLeftovers.filter { moved[old[$0].identity] == $0 }.map { old[$0] }
    }

    private mutating func compare(_ old: UserOperation, _ new: UserOperation) {
        if old != new { self.updated.append(.init(old: old, new: new)) }
    }

    /// Returns how many operations to skip on either side until both go on with the same one.
    ///
    /// Looked for are operations that left, came, or took the place of others; whatever else there is, is left over.
    private static func distanceToMeeting(
        of old: ArraySlice<UserOperation>,
        _ new: ArraySlice<UserOperation>,
        _ searches: inout Int
    ) -> (old: Int, new: Int)? {
        var distance = 1
        while searches > 0, distance < old.count || distance < new.count {
            searches -= 3
            let laterOld = distance < old.count ? old[old.startIndex + distance].identity : nil
            let laterNew = distance < new.count ? new[new.startIndex + distance].identity : nil
            if let laterOld, laterOld == new[new.startIndex].identity { return (distance, 0) }
            if let laterNew, laterNew == old[old.startIndex].identity { return (0, distance) }
            if let laterOld, let laterNew, laterOld == laterNew { return (distance, distance) }
            distance += 1
        }
        return nil
    }
}
