import ExactJSON
import HTTPClientTransport
import Testing
import TestSupport

import PowerAuth

/// An upgrade in one process, while others use the same activation: to a SQLite file two stores are two processes.
@Suite(.timeLimit(.minutes(5))) struct SharedUpgradeTests {
    /// Two processes that share a file, and an activation of version 3 that both have polled with.
    private struct Processes {
        let server: VerifyingServer
        let upgrading: Activation
        let polling: Activation
        let stores: [ActivationStore]
        private let folder: TemporaryFolder

        init() async throws {
            let folder = try TemporaryFolder()
            let stores = (0..<2).map { _ in ActivationStore.sqlite(path: folder.path + "/store/activations.sqlite") }
            let one = try Fixture(store: stores[0])
            let other = try Fixture(server: one.server, store: stores[1])
            self.server = one.server
            self.upgrading = try await one.activateInVersion3()
            self.polling = try await other.client.activation(id: self.upgrading.activationID)
            self.stores = stores
            self.folder = folder
            try await self.upgrading.poll()
            try await self.polling.poll()
        }

        func close() async { for store in self.stores { await store.close() } }
    }

    @Test(arguments: ["/upgrade/start", "/upgrade/confirm"])
    func aPollOfAnotherProcessWaitsForTheEnd(path: String) async throws {
        let processes = try await Processes()
        let paths = Shared<[String]>([])
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let (released, release) = AsyncStream.makeStream(of: Void.self)
        processes.server.setFate { request in
            paths.update { $0.append(request.url) }
            if request.url.hasSuffix(path) {
                start.finish()
                for await _ in released {}
            }
            return .delivered
        }
        async let upgrade: Void = processes.upgrading.upgrade(password: Fixture.secret)
        for await _ in started {}
        let hasPolled = Shared(false)
        async let poll: Void = {
            defer { hasPolled.update { $0 = true } }
            try await processes.polling.poll()
        }()
        while !processes.polling.isSigning && !hasPolled.value { await Task.yield() }
        #expect(paths.value.last?.hasSuffix(path) == true, "nothing else is sent between the steps of an upgrade")
        release.finish()
        try await upgrade
        try await poll
        #expect(paths.value.last?.hasSuffix("/api/token") == true)
        #expect(processes.polling.version == .v4_0)
        #expect(try await processes.polling.status().flags == [])
        await processes.close()
    }

    /// Calls without a signature, by which this process would not learn of the upgrade.
    @Test(arguments: ["status", "user", "name"])
    func whatAnotherProcessAsksForNextIsOfTheNewVersion(call: String) async throws {
        let processes = try await Processes()
        try await processes.upgrading.upgrade(password: Fixture.secret)
        switch call {
        case "status": #expect(try await processes.polling.status().state == .active)
        case "user": #expect(try await processes.polling.userInfo()["sub"]?.string == "alice")
        default: #expect(try await processes.polling.nameAtServer(authenticatedBy: Fixture.twoFactors) == "bot")
        }
        #expect(processes.polling.version == .v4_0)
        await processes.close()
    }

    @Test func aTokenThatTheOtherProcessRenewedServesThisOne() async throws {
        let processes = try await Processes()
        try await processes.upgrading.upgrade(password: Fixture.secret)
        processes.server.forgetTokens()
        try await processes.upgrading.poll()
        let created = processes.server.requestCount("/token/create")
        try await processes.polling.poll()
        #expect(processes.polling.version == .v4_0)
        #expect(processes.server.requestCount("/token/create") == created)
        await processes.close()
    }
}
