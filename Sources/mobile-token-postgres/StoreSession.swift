import CommandLineSupport
import Foundation
import MobileToken
import MobileTokenPostgres

/// The store that the options name.
enum StoreSession {
    static let options = [
        Command.Option("database", "STRING", "the connection string (default: $MOBILE_TOKEN_DATABASE)"),
        Command.Option("schema", "NAME", "the schema of the tables (default: mobile_token)"),
        .sealingKey("sealing-key", default: "$MOBILE_TOKEN_SEALING_KEY_SOURCE, else env:MOBILE_TOKEN_SEALING_KEY"),
        .sealingKey("earlier-sealing-key", default: "none", note: "; it opens what was sealed before"),
        Command.Option("marks", "DIR", "where this machine notes how far counters had come"),
        Command.Option("root-certificates", "FILE", "accept certificates issued by this authority (PEM)"),
        Command.Option("no-tls", nil, "connect without TLS, such as to this machine"),
    ]

    /// Those of commands that take a store on this machine as well.
    static let optionsWithLocalStore =
        options + [
            .init("file", "FILE", "an SQLite store, in place of the database"),
            .init("profile", "NAME", "the store of a profile of 'mobile-token', in place of the database"),
            .init("home", "DIR", "the folder of the profiles (default: $MOBILE_TOKEN_HOME)"),
            .sealingKey("file-sealing-key", default: "beside the SQLite store, or as the profile says"),
        ]

    /// Returns the store on this machine that the options name, if they name one.
    ///
    /// - Throws: ``UsageError`` also for an option that is of no use with the store that is named.
    static func localStore(_ invocation: Invocation) throws -> LocalStore? {
        let store = try LocalStore(invocation, sealingKey: "file-sealing-key")
        let needless = store == nil ? ["home", "file-sealing-key"] : Self.options.map(\.name)
        if let option = needless.first(where: { invocation[$0] != nil || invocation.has($0) }) {
            let place = store == nil ? "the database" : "a store on this machine"
            let hint = option.hasSuffix("sealing-key") && store != nil ? ", whose key is --file-sealing-key" : ""
            throw UsageError(message: "--\(option) is not for \(place)\(hint)", command: invocation.command)
        }
        return store
    }

    /// Runs `body` with the store on this machine that the options name, else with that of the database, and closes it.
    static func runWithLocalStore<Result>(
        _ invocation: Invocation,
        _ body: (ActivationStore) async throws -> Result
    ) async throws -> Result {
        guard let store = try self.localStore(invocation) else {
            return try await self.run(invocation) { try await body($0) }
        }
        return try await store.run { try await body($0) }
    }

    /// Runs `body` with the store of the database, and closes it.
    static func run<Result>(
        _ invocation: Invocation,
        _ body: (ActivationStore) async throws -> Result
    ) async throws -> Result {
        try await closing(Self.open(invocation), { await $0.close() }, body)
    }

    private static func open(_ invocation: Invocation) throws -> ActivationStore {
        let environment = ProcessInfo.processInfo.environment
        guard let database = invocation["database"] ?? environment["MOBILE_TOKEN_DATABASE"] else {
            throw UsageError(message: "--database is missing", command: invocation.command)
        }
        let key =
            try invocation.sealingKey("sealing-key")
            ?? SealingKeySource(environment["MOBILE_TOKEN_SEALING_KEY_SOURCE"] ?? "env:MOBILE_TOKEN_SEALING_KEY")
        let earlier = try invocation.sealingKey("earlier-sealing-key")
        var configuration = PostgresConfiguration(
            connectionString: database,
            sealingKeys: SealingKeyRing(current: key, earlier: [earlier].compactMap(\.self))
        )
        if let schema = invocation["schema"] { configuration.schema = schema }
        if let folder = invocation["marks"] { configuration.markFolder = folder }
        if let file = invocation["root-certificates"] { configuration.tls = .verified(rootCertificates: file) }
        if invocation.has("no-tls") { configuration.tls = .disabled }
        return ActivationStore.postgres(configuration)
    }
}
