import AskCommands
import CommandLineSupport
import Foundation
import MobileToken
import MobileTokenPostgres

/// The store named by the options.
enum StoreSession {
    static let options = [
        database,
        Command.Option("schema", "NAME", "the schema of the tables (default: mobile_token)"),
        .sealingKey("sealing-key", default: "$MOBILE_TOKEN_SEALING_KEY_SOURCE, else env:MOBILE_TOKEN_SEALING_KEY"),
        earlierSealingKey,
        Command.Option("marks", "DIR", "where this machine notes how far counters had come"),
        rootCertificates,
        noTLS,
    ]

    /// The environment variables of the commands.
    static let environment = [
        (variable, "the connection string of the database, as --database"),
        ("MOBILE_TOKEN_SEALING_KEY_SOURCE", "the place of the sealing key, as --sealing-key"),
        ("MOBILE_TOKEN_SEALING_KEY", "the sealing key in Base64, when no other place is named"),
        ("MOBILE_TOKEN_HOME", "the folder of the profiles, as --home"),
        ("MOBILE_TOKEN_PROFILE", "the profile to use, as --profile"),
    ]

    private static let database = Command.Option(
        "database",
        "STRING",
        "the connection string (default: $MOBILE_TOKEN_DATABASE)"
    )
    private static let earlierSealingKey = Command.Option.sealingKey(
        "earlier-sealing-key",
        default: "none",
        note: "; it opens what was sealed before"
    )
    private static let rootCertificates = Command.Option(
        "root-certificates",
        "FILE",
        "accept certificates issued by this authority (PEM)"
    )
    private static let noTLS = Command.Option("no-tls", nil, "connect without TLS, such as to this machine")

    /// Requesters' ledgers, in a schema named by the profile.
    static var ledgers: LedgerOpener {
        LedgerOpener(
            scheme: "postgres",
            form: "postgres:SCHEMA",
            options: [database, earlierSealingKey, rootCertificates, noTLS]
        ) { place, key, invocation in
            let (current, earlier) = try (key ?? self.defaultKey, invocation.sealingKey("earlier-sealing-key"))
            var configuration = try self.configuration(invocation, current, earlier)
            configuration.schema = place.location
            // The command has its own credentials, and must not use the ledger's.
            let secrets = [self.variable, "PGPASSWORD", current.variable, earlier?.variable].compactMap(\.self)
            return (.postgres(configuration), Set(secrets))
        }
    }

    /// The options of commands that also accept a local store.
    static let optionsWithLocalStore =
        options + [
            .init("file", "FILE", "an SQLite store, in place of the database"),
            .init("profile", "NAME", "the store of a profile of 'mobile-token', in place of the database"),
            .init("home", "DIR", "the folder of the profiles (default: $MOBILE_TOKEN_HOME)"),
            .sealingKey("file-sealing-key", default: "beside the SQLite store, or as the profile says"),
        ]

    /// Returns the local store named by the options, if any.
    ///
    /// - Throws: ``UsageError``, also for an option without effect on the named store.
    static func localStore(_ invocation: Invocation) throws -> LocalStore? {
        let store = try LocalStore(invocation, sealingKey: "file-sealing-key")
        let needless = store == nil ? ["home", "file-sealing-key"] : Self.options.map(\.name)
        if let option = needless.first(where: { invocation[$0] != nil || invocation.has($0) }) {
            let place = store == nil ? "the database" : "a store on this machine"
            let hint = option.hasSuffix("sealing-key") && store != nil ? ", whose key is --file-sealing-key" : ""
            throw invocation.misuse("--\(option) is not for \(place)\(hint)")
        }
        return store
    }

    /// Runs `body` with the local store named by the options, or else the database's, and closes it.
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
        var configuration = try self.configuration(
            invocation,
            invocation.sealingKey("sealing-key") ?? self.defaultKey,
            invocation.sealingKey("earlier-sealing-key")
        )
        if let schema = invocation["schema"] { configuration.schema = schema }
        if let folder = invocation["marks"] { configuration.markFolder = folder }
        return ActivationStore.postgres(configuration)
    }

    private static let variable = "MOBILE_TOKEN_DATABASE"

    /// The default place of the key.
    private static var defaultKey: SealingKeySource {
        get throws {
            let place = ProcessInfo.processInfo.environment["MOBILE_TOKEN_SEALING_KEY_SOURCE"]
            return try SealingKeySource(place ?? "env:MOBILE_TOKEN_SEALING_KEY")
        }
    }

    /// Returns the database named by the options and the environment.
    private static func configuration(
        _ invocation: Invocation,
        _ key: SealingKeySource,
        _ earlier: SealingKeySource?
    ) throws -> PostgresConfiguration {
        guard let database = invocation["database"] ?? ProcessInfo.processInfo.environment[self.variable] else {
            throw invocation.misuse("--database is missing")
        }
        var configuration = PostgresConfiguration(
            connectionString: database,
            sealingKeys: SealingKeyRing(current: key, earlier: [earlier].compactMap(\.self))
        )
        if let file = invocation["root-certificates"] { configuration.tls = .verified(rootCertificates: file) }
        if invocation.has("no-tls") { configuration.tls = .disabled }
        return configuration
    }
}
