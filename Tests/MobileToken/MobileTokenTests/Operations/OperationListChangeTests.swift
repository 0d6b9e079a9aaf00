import MobileToken
import Testing

@Suite struct OperationListChangeTests {
    private func change(
        _ operations: [UserOperation],
        added: [UserOperation] = [],
        updated: [OperationList.Change.Update] = [],
        removed: [OperationList.Change.Removal] = []
    ) -> OperationList.Change {
        OperationList.Change(operations: operations, added: added, updated: updated, removed: removed, source: .fetch)
    }

    private let old = UserOperation.sample("a")
    private let new = UserOperation.sample("a", name: "login")

    @Test func addedThenUpdatedIsAddedAsItIsNow() {
        let merged = self.change([self.old], added: [self.old])
            .merged(with: self.change([self.new], updated: [.init(old: self.old, new: self.new)]))
        #expect(merged == self.change([self.new], added: [self.new]))
    }

    @Test func addedThenRemovedIsNothing() {
        let merged = self.change([self.old], added: [self.old])
            .merged(with: self.change([], removed: [.init(operation: self.old, reason: .expired)]))
        #expect(merged == nil)
    }

    @Test func updatedThereAndBackIsNothing() {
        let merged = self.change([self.new], updated: [.init(old: self.old, new: self.new)])
            .merged(with: self.change([self.old], updated: [.init(old: self.new, new: self.old)]))
        #expect(merged == nil)
    }

    @Test func updatedThenRemovedShowsWhatTheSubscriberLastSaw() {
        let merged = self.change([self.new], updated: [.init(old: self.old, new: self.new)])
            .merged(with: self.change([], removed: [.init(operation: self.new, reason: .authorized)]))
        #expect(merged == self.change([], removed: [.init(operation: self.old, reason: .authorized)]))
    }

    @Test func removedThenAddedAgainIsAnUpdateOrNothing() {
        let removed = self.change([], removed: [.init(operation: self.old, reason: .disappeared)])
        #expect(removed.merged(with: self.change([self.old], added: [self.old])) == nil)
        #expect(
            removed.merged(with: self.change([self.new], added: [self.new]))
                == self.change([self.new], updated: [.init(old: self.old, new: self.new)])
        )
    }

    @Test func whatIsAddedStandsInTheOrderOfTheListHoweverItCame() {
        let (a, b, z) = (UserOperation.sample("a"), UserOperation.sample("b"), UserOperation.sample("z"))
        let merged = self.change([b, z], added: [b]).merged(with: self.change([a, z, b], added: [a]))
        #expect(merged?.addedIDs == ["a", "b"])
        #expect(merged?.reordered(as: [b, z, a]).addedIDs == ["b", "a"])
        #expect(merged?.reordered(as: [b, z, a]).operationIDs == ["b", "z", "a"])
    }

    /// Whatever happens in between, a merged change leads from the list last seen to the list as it is.
    @Test func mergedChangesEqualTheDirectDifference() {
        for _ in 0..<60 {
            var lists: [[UserOperation]] = []
            for _ in 0..<6 {
                lists.append(
                    (0..<12).filter { _ in Bool.random() }.shuffled()
                        .map { .sample("\($0)", name: Bool.random() ? "payment" : "login") }
                )
            }
            var merged: OperationList.Change?
            for (from, to) in zip(lists, lists.dropFirst()) {
                let step = self.change(from: from, to: to)
                merged = merged.map { $0.merged(with: step) } ?? (step.isEmpty ? nil : step)
            }
            let direct = self.change(from: lists[0], to: lists[5])
            #expect(merged?.operations ?? lists[5] == lists[5])
            #expect(merged?.added ?? [] == direct.added)
            #expect(Set(merged?.updated ?? []) == Set(direct.updated))
            #expect(Set(merged?.removed ?? []) == Set(direct.removed))
        }
    }

    private func change(from old: [UserOperation], to new: [UserOperation]) -> OperationList.Change {
        let difference = OperationListDifference(from: old, to: new)
        return self.change(
            new,
            added: difference.added,
            updated: difference.updated,
            removed: difference.removed.map { .init(operation: $0, reason: .disappeared) }
        )
    }
}
