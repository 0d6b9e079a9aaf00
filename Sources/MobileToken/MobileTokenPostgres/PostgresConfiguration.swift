import Glibc
import PostgresDatabase
package import PowerAuthClient

/// The settings of a store in PostgreSQL.
public struct PostgresConfiguration: Sendable {
    /// The verification of the server.
    public struct TLS: Sendable, Hashable {
        enum Kind: Hashable {
            case verified(String)
            case asInConnectionString
            case disabled
        }

        let kind: Kind

        /// Requires a certificate from an authority that the system trusts, naming the host. The default. A Unix socket
        /// (`host=/run/postgresql`) has no TLS and needs none.
        public static let verified = Self(kind: .verified(PostgresTarget.systemRootCertificates))

        /// Requires a certificate from an authority in this PEM file, naming the host.
        public static func verified(rootCertificates path: String) -> Self { Self(kind: .verified(path)) }

        /// Uses `sslmode` and related parameters of the connection string. Without them, anyone on the network path can read and
        /// change everything.
        public static let asInConnectionString = Self(kind: .asInConnectionString)

        /// No TLS: for a server on the loopback interface.
        public static let disabled = Self(kind: .disabled)
    }

    /// Returns the connection string, `host=… dbname=… user=… password=…` or `postgresql://…`. Called for each new connection, so
    /// that credentials may change.
    public var connectionString: @Sendable () async throws -> String
    /// The sealing keys, equal for all nodes.
    public var sealingKeys: SealingKeyRing
    /// The schema of the tables, created if missing and permitted.
    public var schema = "mobile_token"
    /// Allows creating and migrating tables. Set to `false` for a role with minimal rights, and run
    /// ``PowerAuthClient/ActivationStore/migrate(grantingTo:)`` with another role.
    public var migrates = true
    /// The maximum number of connections, besides one for heartbeats.
    public var poolSize = 8
    /// The verification of the server.
    public var tls: TLS = .verified
    /// The statement timeout at the server. A connection that is silent for two more seconds counts as lost.
    public var statementTimeout: Duration = .seconds(5)
    /// The connection timeout.
    public var connectTimeout: Duration = .seconds(10)
    /// Set to `true` behind a transaction-level pooler such as PgBouncer. The store then uses no prepared statements or LISTEN,
    /// and polls four times a second instead.
    public var pollOnly = false
    /// The name of this node in `fleet status`. Default: machine and process.
    public var nodeName = Self.defaultNodeName
    /// The lifetimes of nodes; equal for all of them.
    public var lifetimes = NodeLifetimes()
    /// A local folder, outside the database, for recording how far each counter had come. A restored database is detected by it.
    public var markFolder = Self.defaultMarkFolder
    /// The latest format that this node announces, for tests with nodes of another version.
    package var newestFormat = RecordFormat.newest
    /// The migrations, for tests of changing tables.
    var steps = PostgresSchema.steps
    /// Paces heartbeats and attempts. The reliance on a lease is measured by the machine's clock.
    package var clock: any Clock<Duration> = ContinuousClock()

    /// Creates a configuration with the documented defaults.
    ///
    /// - Parameters:
    ///   - connectionString: The connection string for libpq.
    ///   - sealingKeys: The sealing keys, equal for all nodes.
    public init(connectionString: String, sealingKeys: SealingKeyRing) {
        self.init(sealingKeys: sealingKeys) { connectionString }
    }

    /// Creates a configuration with a changing connection string.
    ///
    /// - Parameters:
    ///   - sealingKeys: The sealing keys, equal for all nodes.
    ///   - connectionString: Returns the string for a new connection, for example with a fresh password.
    public init(sealingKeys: SealingKeyRing, connectionString: @escaping @Sendable () async throws -> String) {
        self.connectionString = connectionString
        self.sealingKeys = sealingKeys
    }

    /// `mobile-token` in the first of `$STATE_DIRECTORY` (set by service managers), `$XDG_STATE_HOME` and `~/.local/state`.
    public static var defaultMarkFolder: String {
        let path = ActivationStore.defaultPath
        return path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }

    func target(connectTimeout: Duration) async throws -> PostgresTarget {
        let connectionString: String
        do {
            connectionString = try await self.connectionString()
        } catch let error as MobileTokenError {
            throw error
        } catch {
            if error is CancellationError, Task.isCancelled { throw error }
            // The application's error may be temporary.
            throw MobileTokenError(.storeUnreachable, "The connection string could not be had", underlying: error)
        }
        return PostgresTarget(
            connectionString: connectionString,
            tls: PostgresTarget.TLS(self.tls),
            connectTimeout: connectTimeout
        )
    }

    private static var defaultNodeName: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "node:\(getpid())" }
        let host = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return "\(String(decoding: host, as: UTF8.self)):\(getpid())"
    }
}

extension PostgresTarget.TLS {
    init(_ tls: PostgresConfiguration.TLS) {
        self =
            switch tls.kind {
            case .verified(let path): .verified(rootCertificates: path)
            case .asInConnectionString: .asInConnectionString
            case .disabled: .disabled
            }
    }
}

extension PostgresConfiguration {
    var tables: PostgresSchema { PostgresSchema(name: self.schema, steps: self.steps) }
}
