import StoreTesting
import TestSupport
import Foundation
import PowerAuth
import Testing

/// Processes on one store; how they sign with it, and die meanwhile, is for the integration tests.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct StoreProcessTests {
    private let folder: TemporaryFolder
    private var path: String { self.folder.file("store.sqlite") }

    init() throws { self.folder = try TemporaryFolder() }

    @Test func aKilledHolderLosesTheTurnAtOnce() async throws {
        let store = ActivationStore.sqlite(path: self.path)
        try await store.insert(ActivationStoreConformance.record("a"))
        let holder = try Exerciser.start(["action=hold", "store=\(self.path)"])
        #expect(await holder.nextLine() == "held")
        holder.send(signal: SIGKILL)
        #expect(await holder.outcome().wasKilled)
        try await store.withSigningTurn(of: "a") { _ in }
    }

    @Test(arguments: ["000", "022", "777"])
    func modesDoNotDependOnTheUmask(umask: String) async throws {
        let path = self.folder.file("new/deeper/store.sqlite")
        let arguments = ["action=insert", "store=\(path)", "umask=\(umask)"]
        #expect(try await Exerciser.run(arguments).lines.last == "done")
        #expect(mode(of: self.folder.file("new")) == 0o700)
        #expect(mode(of: self.folder.file("new/deeper")) == 0o700)
        for suffix in ["", ".key", "-lease"] { #expect(mode(of: path + suffix) == 0o600) }
    }
}
