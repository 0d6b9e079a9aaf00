import MobileTokenTesting
import PowerAuth
import PowerAuthCrypto
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(4)))
struct StoreConformanceTests {
    @Test(arguments: ActivationStoreConformance.allCases)
    func theStoreInMemoryConforms(to requirement: ActivationStoreConformance) async throws {
        try await requirement.check { InMemoryActivationStore() }
    }

    @Test(arguments: ActivationStoreConformance.allCases)
    func theSQLiteStoreConforms(to requirement: ActivationStoreConformance) async throws {
        let folder = try TemporaryFolder()
        try await requirement.check {
            SQLiteActivationStore(path: folder.file("store.sqlite"))
        } openAgain: { _ in
            SQLiteActivationStore(path: folder.file("store.sqlite"))
        }
    }

    @Test(arguments: ActivationStoreConformance.allCases)
    func aStoreOfOnesOwnThatKeepsSealedFieldsConforms(to requirement: ActivationStoreConformance) async throws {
        let sealing = try Sealing(key: SecretBytes(copying: [UInt8](repeating: 7, count: 32)))
        try await requirement.check { SealedDictionaryStore(sealing: sealing) }
    }

    @Test func theWholeSuiteRunsInOneCall() async throws {
        try await ActivationStoreConformance.run { InMemoryActivationStore() }
    }
}

/// What a user might write: public API only.
private actor SealedDictionaryStore: ActivationStore {
    private let sealing: Sealing
    private let gates = InMemoryActivationStore()
    private var activations: [SealedActivation] = []

    init(sealing: Sealing) { self.sealing = sealing }

    func activationIDs() async throws -> [String] { self.activations.map(\.activationID) }

    func record(of activationID: String) async throws -> ActivationRecord? {
        try self.activations.first { $0.activationID == activationID }.map { try self.sealing.open($0) }
    }

    func insert(_ record: ActivationRecord) async throws {
        try await self.gates.insert(record)  // refuses a second one
        self.activations.append(try self.sealing.seal(record))
    }

    @discardableResult
    func update<Result: Sendable>(
        _ activationID: String,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        guard let index = self.activations.firstIndex(where: { $0.activationID == activationID }) else {
            throw MobileTokenError(.activationNotStored, "not there")
        }
        let (changes, result) = try self.sealing.change(self.activations[index], change)
        self.activations[index] = self.activations[index].applying(changes)
        return result
    }

    func remove(_ activationID: String) async throws {
        self.activations.removeAll { $0.activationID == activationID }
        try await self.gates.remove(activationID)
    }

    func withSigningTurn<Result: Sendable>(
        of activationID: String,
        _ body: @Sendable (SigningTurn) async throws -> Result
    ) async throws -> Result {
        try await self.gates.withSigningTurn(of: activationID) { _ in
            try await body(SigningTurn(of: activationID, in: self))
        }
    }
}
