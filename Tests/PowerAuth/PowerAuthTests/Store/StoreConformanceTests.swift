import StoreTesting
import PowerAuth
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct StoreConformanceTests {
    @Test(arguments: ActivationStoreConformance.allCases)
    func theStoreInMemoryConforms(to requirement: ActivationStoreConformance) async throws {
        try await requirement.check { ActivationStore.inMemory() }
    }

    @Test(arguments: ActivationStoreConformance.allCases)
    func theSQLiteStoreConforms(to requirement: ActivationStoreConformance) async throws {
        let folder = try TemporaryFolder()
        try await requirement.check {
            ActivationStore.sqlite(path: folder.file("store.sqlite"))
        } openAgain: { _ in
            ActivationStore.sqlite(path: folder.file("store.sqlite"))
        }
    }
}
