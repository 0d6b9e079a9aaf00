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
            found, nothing is changed, the exit code is 1, and the activation must be made anew.
            """,
        operands: [.init("ID", "the activation")],
        options: StoreSession.options + [
            .init("file", "FILE", "an SQLite store, in place of the database"),
            .sealingKey("file-sealing-key", default: "beside the SQLite store", note: "; it is that store's"),
            .init("url", "URL", "the server, such as https://host/enrollment-server"),
            .init("sdk-configuration", "TEXT", "the configuration string from the server's administrator"),
            .init("ca-file", "FILE", "accept certificates of the server issued by this authority (PEM)"),
            .init("search", "NUMBER", "how many counter values are looked at (default: 1000000)"),
        ]
    ) { invocation in
        let id = try invocation.required(0)
        let limit = try invocation.integer("search", in: 1...1_000_000_000) ?? 1_000_000
        let count: UInt64
        if let path = invocation["file"] {
            let key = try invocation.sealingKey("file-sealing-key")
            let store = SQLiteActivationStore(path: path, sealingKey: key)
            count = try await invocation.recover(id, in: store, limit)
            await store.close()
        } else {
            count = try await StoreSession.run(invocation) { try await invocation.recover(id, in: $0, limit) }
        }
        Output(isJSON: invocation.has("json")).result(
            ["activationId": .string(id), "passedOver": .number(JSONNumber(count))],
            text: count == 0 ? "The counter is in step." : "Passed over \(count) counter values."
        )
        return .done
    }
}

extension Invocation {
    fileprivate func recover(_ id: String, in store: some ActivationStore, _ limit: Int) async throws -> UInt64 {
        guard let url = self["url"], let sdkConfiguration = self["sdk-configuration"] else {
            throw UsageError(message: "--url and --sdk-configuration are needed", command: self.command)
        }
        var transport = CurlTransport.Configuration()
        if let file = self["ca-file"] { transport.tls.validation = .certificateAuthority(file: file) }
        var configuration = MobileTokenClient.Configuration()
        configuration.store = store
        configuration.transport = try CurlTransport(configuration: transport)
        let client = try MobileTokenClient(
            baseURL: url,
            sdkConfiguration: sdkConfiguration,
            configuration: configuration
        )
        return try await client.activation(id: id).recoverCounter(searching: limit)
    }
}
