import Foundation
import Glibc
import StoreTesting
import PowerAuth
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SealingKeyTests {
    private let folder: TemporaryFolder
    private let record = ActivationStoreConformance.record("a")
    private var path: String { self.folder.file("store.sqlite") }

    init() throws { self.folder = try TemporaryFolder() }

    private func key(_ byte: UInt8) -> SecretBytes { SecretBytes(copying: [UInt8](repeating: byte, count: 32)) }

    @Test func theKeyFileIsMadeOnceAndReadAfterwards() async throws {
        let path = self.folder.file("keys/sealing.key")
        let provider = SealingKey.file(path)
        let made = try await provider.sealingKey(isForNewStore: true)
        #expect(made.count == 32)
        #expect(mode(of: path) == 0o600)
        #expect(mode(of: self.folder.file("keys")) == 0o700)
        #expect(try await provider.sealingKey(isForNewStore: true) == made)
        #expect(try await provider.sealingKey(isForNewStore: false) == made)
        #expect(try FileManager.default.contentsOfDirectory(atPath: self.folder.file("keys")) == ["sealing.key"])
    }

    @Test func ofManyWhoMakeTheKeyFileAtOnceAllGetTheSameKey() async throws {
        let provider = SealingKey.file(self.folder.file("sealing.key"))
        let keys = try await withThrowingTaskGroup(of: SecretBytes.self) { group in
            for _ in 0..<20 { group.addTask { try await provider.sealingKey(isForNewStore: true) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(keys.allSatisfy { $0 == keys[0] })
    }

    @Test func aLostKeyFileIsNotReplacedByAnother() async throws {
        try await ActivationStore.sqlite(path: self.path).insert(self.record)
        #expect(rename(self.path + ".key", self.path + ".kept") == 0)
        await expectError(.storeSealingKeyMissing) { try await ActivationStore.sqlite(path: self.path).open() }
        #expect(!FileManager.default.fileExists(atPath: self.path + ".key"))
        #expect(rename(self.path + ".kept", self.path + ".key") == 0)
        #expect(try await ActivationStore.sqlite(path: self.path).record(of: "a") == self.record)
    }

    @Test func aKeyFileOfTheWrongLengthIsNoKey() async throws {
        #expect(
            FileManager.default.createFile(
                atPath: self.path + ".key",
                contents: Data(repeating: 1, count: 31),
                attributes: [.posixPermissions: 0o600]
            )
        )
        await expectError(.storeSealingKeyMissing) { try await ActivationStore.sqlite(path: self.path).open() }
    }

    @Test func aWrongKeyIsNamedAndChangesNothing() async throws {
        let key = self.key(1)
        let wrongKey = self.key(2)
        try await ActivationStore.sqlite(path: self.path, sealingKey: .closure { key }).insert(self.record)
        let before = contents(of: self.path)
        let store = ActivationStore.sqlite(path: self.path, sealingKey: .closure { wrongKey })
        let other = ActivationStoreConformance.record("b")
        #expect(await errorCode { try await store.insert(other) } == .storeWrongSealingKey)
        #expect(await errorCode { _ = try await store.record(of: "a") } == .storeWrongSealingKey)
        #expect(await errorCode { try await store.update("a") { _ = $0.takeMove() } } == .storeWrongSealingKey)
        #expect(await errorCode { try await store.remove("a") } == .storeWrongSealingKey)
        #expect(contents(of: self.path) == before)
        let again = ActivationStore.sqlite(path: self.path, sealingKey: .closure { key })
        #expect(try await again.record(of: "a") == self.record)
    }

    @Test func noSecondKeyIsAdoptedWhenTheCheckIsMissing() async throws {
        try await ActivationStore.sqlite(path: self.path).insert(self.record)
        try spoil("DELETE FROM sealing_key", at: self.path)
        #expect(await errorCode { try await ActivationStore.sqlite(path: self.path).open() } == .storeCorrupted)
    }

    @Test func aKeyOfAnotherLengthIsRefused() async throws {
        let short = SecretBytes(copying: [UInt8](repeating: 1, count: 16))
        let store = ActivationStore.sqlite(path: self.path, sealingKey: .closure { short })
        #expect(await errorCode { try await store.open() } == .storeSealingKeyMissing)
    }

    @Test func theErrorOfAKeyServiceReachesTheCaller() async throws {
        struct ServiceDown: Error {}
        let store = ActivationStore.sqlite(path: self.path, sealingKey: .closure { throw ServiceDown() })
        await #expect(throws: ServiceDown.self) { try await store.open() }
    }

    @Test func theKeyMayComeFromTheEnvironment() async throws {
        let name = "SEALING_KEY_\(UUID().uuidString.replacing("-", with: "_"))"
        let provider = SealingKey.environment(name)
        #expect(await errorCode { _ = try await provider.sealingKey(isForNewStore: true) } == .storeSealingKeyMissing)
        setenv(name, "not Base64!", 1)
        #expect(await errorCode { _ = try await provider.sealingKey(isForNewStore: true) } == .storeSealingKeyMissing)
        setenv(name, Base64.encode([UInt8](repeating: 9, count: 32)), 1)
        #expect(try await provider.sealingKey(isForNewStore: false) == self.key(9))
        unsetenv(name)
    }

    @Test func rotationSealsEverythingWithTheNewKeyAlone() async throws {
        let (old, new) = (self.key(1), self.key(2))
        let store = ActivationStore.sqlite(path: self.path, sealingKey: .closure { old })
        let bystander = ActivationStore.sqlite(path: self.path, sealingKey: .closure { old })
        for id in ["a", "b"] { try await store.insert(ActivationStoreConformance.record(id)) }
        #expect(try await bystander.record(of: "a") == self.record)

        try await store.rotateSealingKey(to: .closure { new })
        try await store.update("a") { _ = $0.takeMove() }
        #expect(try await store.record(of: "a")?.history.moves == 507)

        // A holder of the old key can neither read nor spoil anything.
        #expect(await errorCode { _ = try await bystander.record(of: "a") } == .storeWrongSealingKey)
        #expect(await errorCode { try await bystander.update("a") { _ = $0.takeMove() } } == .storeWrongSealingKey)
        await expectError(.storeWrongSealingKey) { try await bystander.insert(ActivationStoreConformance.record("c")) }
        let withOldKey = ActivationStore.sqlite(path: self.path, sealingKey: .closure { old })
        #expect(await errorCode { try await withOldKey.open() } == .storeWrongSealingKey)

        let withNewKey = ActivationStore.sqlite(path: self.path, sealingKey: .closure { new })
        #expect(try await withNewKey.record(of: "b") == ActivationStoreConformance.record("b"))
        #expect(try await withNewKey.record(of: "a")?.history.moves == 507)
    }

    @Test func aRotationThatFailsLeavesTheOldKeyInForce() async throws {
        let (old, new) = (self.key(1), self.key(2))
        let store = ActivationStore.sqlite(path: self.path, sealingKey: .closure { old })
        for id in ["a", "b"] { try await store.insert(ActivationStoreConformance.record(id)) }
        try spoil("UPDATE activation SET counter = x'00' WHERE slot = 2", at: self.path)
        #expect(await errorCode { try await store.rotateSealingKey(to: .closure { new }) } == .storeCorrupted)
        #expect(try await store.record(of: "a") == self.record)
        let again = ActivationStore.sqlite(path: self.path, sealingKey: .closure { old })
        #expect(try await again.record(of: "a") == self.record)
    }
}
