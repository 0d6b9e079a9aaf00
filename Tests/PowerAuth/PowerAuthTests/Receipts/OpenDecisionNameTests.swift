import StoreTesting
import TestSupport
import Testing

import PowerAuth
@testable import PowerAuthClient

/// An open decision names its intent, also where a store that was put back has another one of the same number.
@Suite struct OpenDecisionNameTests {
    private static let key = SecureRandom.secret(Sealing.keyByteCount)

    /// The stores that a process opens again and again.
    enum Kind: CaseIterable, Sendable {
        case memory, sqlite
    }

    private let folder: TemporaryFolder
    private let driver = MemoryDriver()

    init() throws { self.folder = try TemporaryFolder() }

    private func open(_ kind: Kind) -> ActivationStore {
        switch kind {
        case .memory:
            ActivationStore(self.driver, name: "memory", keys: SealingKeys(current: .closure { Self.key }))
        case .sqlite:
            .sqlite(path: self.folder.file("store.sqlite"), sealingKey: .closure { Self.key })
        }
    }

    /// Signs with the first move of a new activation.
    private func sign(_ operation: String, in store: ActivationStore) async throws {
        // Past the store, which would write what became of the decisions of before.
        _ = try await store.opened()
        _ = try await store.driver.remove("a")
        try await store.insert(ActivationStoreConformance.sparseRecord("a"))
        try await store.update("a", recording: ActivationStoreConformance.intent("a", operation)) {
            _ = $0.takeMove()
        }
    }

    @Test(arguments: Kind.allCases, [0, 1])
    func anOutcomeAfterARestartLandsOnItsIntent(kind: Kind, index: Int) async throws {
        let before = self.open(kind)
        try await self.sign("first", in: before)
        try await self.sign("second", in: before)
        if kind == .sqlite { await before.close() }

        let store = self.open(kind)
        let open = try await store.openDecisions(of: "a")
        #expect(open.map(\.intent.operationID) == ["first", "second"])
        #expect(open.map(\.moves) == [1, 1])
        let receipts = try await store.receipts(of: "a", after: 0, limit: 10)
        #expect(receipts.map { $0.isOf(open[index]) } == [index == 0, index == 1])
        try await store.record(ActivationStoreConformance.outcome(.notFollowed), of: open[index])
        let results = try await store.receipts(of: "a", after: 0, limit: 10).map(\.outcome?.result)
        #expect(results == (index == 0 ? [.notFollowed, nil] : [nil, .notFollowed]))
    }

    /// This process has signed anew since, and remembers the later intent of that number.
    @Test(arguments: Kind.allCases) func whatIsRememberedIsNotTakenForWhatIsNamed(kind: Kind) async throws {
        let store = self.open(kind)
        try await self.sign("first", in: store)
        let open = try await store.openDecisions(of: "a")
        try await self.sign("second", in: store)
        try await store.record(ActivationStoreConformance.outcome(.accepted), of: try #require(open.first))
        try await store.record(ActivationStoreConformance.outcome(.unknown), ofMove: 1, of: "a")
        let results = try await store.receipts(of: "a", after: 0, limit: 10).map(\.outcome?.result)
        #expect(results == [.accepted, .unknown])
    }
}
