import CommandLineSupport
import DecisionReceipts
import ExactJSON
import Foundation
import MobileToken
import PowerAuth

extension StoreCommands {
    static let recover = Command(
        "store",
        "recover",
        summary: "Let an activation sign again after its store was restored from an old copy.",
        discussion: """
            An activation that is twenty signatures or more behind the server signs nothing (stateRolledBack), for another copy of
            the store may still be in use. Stop every such copy first: two of them use counter values twice, and block the
            activation. This command then searches for the server's counter, and moves this one there. If it is not found,
            nothing is changed, the exit code is 1, and the activation must be made anew. --all does so for every activation of the
            store, and tells which of them are lost. A restore closes the limits of agents until their windows have passed, since
            approvals may be missing; --open-limits opens them at once. --profile knows the activation, its store and its server.
            """,
        operands: [.init("ID", "the activation", isOptional: true)],
        options: StoreSession.optionsWithLocalStore + [
            .init("all", nil, "every activation of the store, in place of one"),
            .init("url", "URL", "the server, such as https://host/enrollment-server; a profile knows it"),
            .init(
                "sdk-configuration",
                "TEXT",
                "the configuration string from the server's administrator; a profile knows it"
            ),
            .init(
                "ca-file",
                "FILE",
                "accept certificates of the server issued by this authority (PEM); a profile knows it"
            ),
            .init("open-limits", nil, "let agents use limits that the restore has closed"),
            .init("search", "NUMBER", "how many counter values are looked at (default: 1000000)"),
        ]
    ) { invocation in
        let profile = try StoreSession.localStore(invocation)?.profile
        let server = try invocation.server(of: profile)
        let id = try invocation.activationID(of: profile)
        return try await StoreSession.runWithLocalStore(invocation) {
            let code = try await invocation.recover(id, in: $0, at: server)
            try await invocation.tellLimits(of: $0)
            return code
        }
    }
}

/// The result for one activation.
private struct Recovery: Sendable {
    let activationID: String
    /// The number of skipped values.
    let result: Result<UInt64, MobileTokenError>

    /// Recovers one activation, whatever the results of the others.
    init(_ activationID: String, of client: MobileTokenClient, _ limit: Int) async throws {
        self.activationID = activationID
        do {
            let activation = try await client.activation(id: activationID)
            self.result = .success(try await activation.recoverCounter(searching: limit))
        } catch let error as MobileTokenError {
            self.result = .failure(error)
        }
    }

    var text: String {
        switch self.result {
        case .success(let count): count == 0 ? "The counter is in step." : "Passed over \(count) counter values."
        case .failure(let error): "\(error)"
        }
    }

    var document: JSONValue {
        switch self.result {
        case .success(let count):
            ["activationId": .string(self.activationID), "passedOver": .number(JSONNumber(count))]
        case .failure(let error):
            ["activationId": .string(self.activationID), "failure": .string(error.code.description)]
        }
    }
}

extension Invocation {
    /// Returns the activation to recover; `nil` for all.
    fileprivate func activationID(of profile: Profile?) throws -> String? {
        switch (self.operand(0), self.has("all")) {
        case (nil, true): return nil
        case (let id?, false): return id
        case (nil, false):
            if let id = profile?.activationID { return id }
            fallthrough
        case (_?, true): throw self.misuse("name an activation, or give --all")
        }
    }

    /// Returns the server in the profile, or else in the options.
    fileprivate func server(of profile: Profile?) throws -> Profile {
        if let profile {
            for option in ["url", "sdk-configuration", "ca-file"] where self[option] != nil {
                throw self.misuse("--\(option) is what --profile knows")
            }
            return profile
        }
        guard let url = self["url"], let sdkConfiguration = self["sdk-configuration"] else {
            throw self.misuse("--url and --sdk-configuration are needed")
        }
        var server = Profile(url: url, sdkConfiguration: sdkConfiguration)
        server.trust = Profile.Trust()
        server.trust?.caFile = self["ca-file"]
        return server
    }

    /// Opens the limits if that is wished, and otherwise notes that they are closed.
    fileprivate func tellLimits(of store: ActivationStore) async throws {
        if self.has("open-limits") {
            if try await store.openLimits() { Output.note("The limits of agents are open.") }
        } else if let minute = try await store.limitUse([]).closure, minute > Date().minute - LimitWindow.longest {
            Output.note("The limits of agents are closed until their windows have passed; --open-limits opens them.")
        }
    }

    /// Recovers one activation, or all of them.
    fileprivate func recover(
        _ id: String?,
        in store: ActivationStore,
        at server: Profile
    ) async throws -> ExitCode {
        let limit = try self.integer("search", in: 1...1_000_000_000) ?? 1_000_000
        let client = try server.client(of: store)
        let output = Output(isJSON: self.has("json"))
        if let id {
            let recovery = try await Recovery(id, of: client, limit)
            _ = try recovery.result.get()
            output.outcome(recovery.document, text: recovery.text)
            return .done
        }
        let recoveries = try await Self.recover(try await store.activationIDs(), of: client, limit)
        var table = TextTable(header: "ACTIVATION", "FINDING")
        for recovery in recoveries { table.add(recovery.activationID, recovery.text) }
        output.outcome(
            .array(recoveries.map(\.document)),
            text: recoveries.isEmpty ? "No activations." : table.text
        )
        return recoveries.allSatisfy { (try? $0.result.get()) != nil } ? .done : .refused
    }

    /// Recovers several concurrently, because each mostly waits for the server.
    private static func recover(
        _ ids: [String],
        of client: MobileTokenClient,
        _ limit: Int
    ) async throws -> [Recovery] {
        try await withThrowingTaskGroup(of: (Int, Recovery).self) { group in
            var recoveries: [Int: Recovery] = [:]
            for (index, id) in ids.enumerated() {
                if index >= 8, let (done, recovery) = try await group.next() { recoveries[done] = recovery }
                group.addTask { (index, try await Recovery(id, of: client, limit)) }
            }
            for try await (done, recovery) in group { recoveries[done] = recovery }
            return ids.indices.compactMap { recoveries[$0] }
        }
    }
}
