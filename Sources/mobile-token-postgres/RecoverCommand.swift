import CommandLineSupport
import ExactJSON
import MobileToken
import MobileTokenPostgres

extension StoreCommands {
    static let recover = Command(
        "store",
        "recover",
        summary: "Let an activation sign again whose store was put back from long ago.",
        discussion: """
            An activation that is twenty signatures or more behind the server signs nothing (stateRolledBack), for another copy of
            the store may still be in use. Stop every such copy first: two of them use counter values twice, and block the
            activation. This command then looks for the server's counter further on, and moves this one there. When it is not
            found, nothing is changed, the exit code is 1, and the activation must be made anew. --all does so for every activation
            of the store, and tells which of them are lost.
            """,
        operands: [.init("ID", "the activation", isOptional: true)],
        options: StoreSession.options + [
            .init("all", nil, "every activation of the store, in place of one"),
            .init("file", "FILE", "an SQLite store, in place of the database"),
            .sealingKey("file-sealing-key", default: "beside the SQLite store", note: "; it is that store's"),
            .init("url", "URL", "the server, such as https://host/enrollment-server"),
            .init("sdk-configuration", "TEXT", "the configuration string from the server's administrator"),
            .init("ca-file", "FILE", "accept certificates of the server issued by this authority (PEM)"),
            .init("search", "NUMBER", "how many counter values are looked at (default: 1000000)"),
        ]
    ) { invocation in
        guard invocation.has("all") != (invocation.operand(0) != nil) else {
            throw UsageError(message: "name an activation, or give --all", command: invocation.command)
        }
        if let path = invocation["file"] {
            let key = try invocation.sealingKey("file-sealing-key")
            let store = SQLiteActivationStore(path: path, sealingKey: key)
            let code = try await invocation.recover(in: store)
            await store.close()
            return code
        }
        return try await StoreSession.run(invocation) { try await invocation.recover(in: $0) }
    }
}

/// What became of an activation.
private struct Recovery: Sendable {
    let activationID: String
    /// How many values were passed over.
    let result: Result<UInt64, MobileTokenError>

    /// Recovers one, whatever became of the others.
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
    fileprivate func recover(in store: some ActivationStore) async throws -> ExitCode {
        let limit = try self.integer("search", in: 1...1_000_000_000) ?? 1_000_000
        let client = try self.client(of: store)
        let output = Output(isJSON: self.has("json"))
        if let id = self.operand(0) {
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

    /// Recovers some at a time: each waits for the server most of the time.
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

    private func client(of store: some ActivationStore) throws -> MobileTokenClient {
        guard let url = self["url"], let sdkConfiguration = self["sdk-configuration"] else {
            throw UsageError(message: "--url and --sdk-configuration are needed", command: self.command)
        }
        var transport = CurlTransport.Configuration()
        if let file = self["ca-file"] { transport.tls.validation = .certificateAuthority(file: file) }
        var configuration = MobileTokenClient.Configuration()
        configuration.store = store
        configuration.transport = try CurlTransport(configuration: transport)
        return try MobileTokenClient(baseURL: url, sdkConfiguration: sdkConfiguration, configuration: configuration)
    }
}
