import Basics
import PowerAuth

// The contents of a store, and changes to it.
extension ActivationStoreConformance {
    func checkEmptiness(of store: ActivationStore) async throws {
        try self.require(try await store.activationIDs().isEmpty, "a new store lists activations")
        try self.require(try await store.record(of: "a") == nil, "a new store has a record")
        try await store.remove("a")
    }

    func checkInsertion(into store: ActivationStore) async throws {
        for record in [Self.record("a"), Self.sparseRecord("b"), Self.record("")] + Self.version4Records("v4") {
            try await store.insert(record)
            try self.require(try await store.record(of: record.activationID) == record, "a record came back different")
        }
    }

    func checkSecondInsertion(into store: ActivationStore) async throws {
        try await store.insert(Self.record("a"))
        try await self.requireError(.activationAlreadyStored) { try await store.insert(Self.record("a", secrets: 50)) }
        try self.require(try await store.record(of: "a") == Self.record("a"), "the first record was overwritten")
        try self.require(try await store.activationIDs() == ["a"], "the activation is listed more than once")
    }

    func checkOrder(of store: ActivationStore) async throws {
        for id in ["c", "a", "b"] { try await store.insert(Self.record(id)) }
        try self.require(try await store.activationIDs() == ["c", "a", "b"], "not in the order of insertion")
        try await store.update("c") { $0.takeMove() }
        try self.require(try await store.activationIDs() == ["c", "a", "b"], "a change moved an activation")
    }

    func checkChanges(of store: ActivationStore) async throws {
        try await store.insert(Self.record("a"))
        try await store.insert(Self.record("b"))
        var expected = Self.record("a")
        for _ in 0..<10 {
            let move = try await store.update("a") { record in
                record.isUnsettled.toggle()
                return record.takeMove()
            }
            expected.isUnsettled.toggle()
            try self.require(move == expected.takeMove(), "a change did not see the one before it")
            try self.require(try await store.record(of: "a") == expected, "a change was not kept")
        }
        try self.require(try await store.record(of: "b") == Self.record("b"), "a change reached another activation")
    }

    func checkTokensAndFactors(of store: ActivationStore) async throws {
        try await store.insert(Self.record("a"))
        let token = ActivationRecord.Token(id: "second", secret: SecretBytes(copying: [1, 2, 3]))
        let key = SecretBytes(copying: [UInt8](repeating: 77, count: 16))
        try await store.update("a") { record in
            record.tokens["second"] = token
            for name in Self.oddNames { record.tokens[name] = token }
            record.tokens["possession_universal"] = nil
            record.version3?.encryptedBiometryKey = nil
            record.version3?.encryptedKnowledgeKey = key
            record.version3?.knowledgeSalt = [8, 8]
        }
        var expected = Self.record("a")
        expected.tokens = ["second": token]
        for name in Self.oddNames { expected.tokens[name] = token }
        expected.version3?.encryptedBiometryKey = nil
        expected.version3?.encryptedKnowledgeKey = key
        expected.version3?.knowledgeSalt = [8, 8]
        try self.require(try await store.record(of: "a") == expected, "tokens or factors are not those of the change")
    }

    /// Checks a record's change of version, as by an upgrade.
    func checkUpgrade(of store: ActivationStore) async throws {
        try await store.insert(Self.record("a"))
        for other in Self.version4Records("b") + [Self.record("c")] {
            try await store.update("a") { record in
                record.keys = other.keys
                record.ledger = other.ledger
                record.tokens = [:]
            }
            let record = try await store.record(of: "a")
            try self.require(
                record?.keys == other.keys && record?.ledger == other.ledger && record?.tokens.isEmpty == true,
                "the record of another version came back different"
            )
        }
    }

    func checkUpgrading(in store: ActivationStore, asSeenBy other: ActivationStore) async throws {
        for id in ["a", "b"] { try await store.insert(Self.record(id)) }
        try self.require(try await !other.isUpgrading("a"), "an activation is upgraded that was only inserted")
        try self.require(try await !other.isUpgrading("c"), "an unknown activation is upgraded")
        try await store.update("a") { $0.version3?.isUpgrading = true }
        try self.require(try await other.isUpgrading("a"), "an upgrade was stored, and is not known")
        try self.require(try await !other.isUpgrading("b"), "another activation is upgraded than the one that is")
        try self.require(try await store.record(of: "a")?.isUpgrading == true, "the record knows of no upgrade")
        try await store.update("a") { $0.version3?.isUpgrading = false }
        try self.require(
            try await store.record(of: "a") == Self.record("a"),
            "an upgrade that came to nothing left something"
        )
    }

    /// Names that Swift or a database may confuse: a leading combining character, two that look alike.
    private static let oddNames: [ExactString] = ["\u{301}", "e\u{301}", "\u{E9}", "token:", "'"]

    func checkThrowingChange(of store: ActivationStore) async throws {
        struct Refusal: Error {}
        try await store.insert(Self.record("a"))
        do {
            try await store.update("a") { record in
                record.takeMove()
                record.tokens = [:]
                throw Refusal()
            }
            try self.require(false, "the closure's error was swallowed")
        } catch is Refusal {}
        try self.require(try await store.record(of: "a") == Self.record("a"), "a change that threw was kept")
    }

    func checkChangeOfUnknown(in store: ActivationStore) async throws {
        try await self.requireError(.activationNotStored) { try await store.update("a") { _ = $0.takeMove() } }
        try self.require(try await store.record(of: "a") == nil, "a change created an activation")
    }

    func checkRemoval(from store: ActivationStore) async throws {
        try await store.insert(Self.record("a"))
        try await store.insert(Self.record("b"))
        try await store.remove("a")
        try await store.remove("a")
        try self.require(try await store.record(of: "a") == nil, "a removed activation is still there")
        try self.require(try await store.activationIDs() == ["b"], "the list does not fit the removal")
        try self.require(try await store.record(of: "b") == Self.record("b"), "a removal reached another activation")
    }

    func checkInsertionAfterRemoval(in store: ActivationStore) async throws {
        try await store.insert(Self.record("a"))
        try await store.update("a") { $0.takeMove() }
        try await store.remove("a")
        try await store.insert(Self.sparseRecord("a"))
        let record = try await store.record(of: "a")
        try self.require(record == Self.sparseRecord("a"), "something of the removed activation came back")
    }

    func checkSharing(between one: ActivationStore, and other: ActivationStore) async throws {
        try await one.insert(Self.record("a"))
        try self.require(try await other.record(of: "a") == Self.record("a"), "the other handle does not see a record")
        let move = try await one.update("a") { $0.takeMove() }
        let next = try await other.update("a") { $0.takeMove() }
        try self.require(next == move + 1, "the other handle does not see a change")
        try await self.requireError(.activationAlreadyStored) { try await other.insert(Self.record("a")) }
        try await other.remove("a")
        try self.require(try await one.record(of: "a") == nil, "the other handle's removal is not seen")
    }
}
