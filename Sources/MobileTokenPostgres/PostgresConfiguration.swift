import Glibc
import PostgresDatabase
package import PowerAuth

/// The settings of a store in PostgreSQL.
public struct PostgresConfiguration: Sendable {
    /// The verification of the server's identity.
    public struct TLS: Sendable, Hashable {
        enum Kind: Hashable {
            case verified(String)
            case asInConnectionString
            case disabled
        }

        let kind: Kind

        /// The server's certificate must be of an authority that the system trusts, and name the host. The default.
        ///
        /// A socket in the file system (`host=/run/postgresql`) has no TLS, and needs none.
        public static let verified = Self(kind: .verified(PostgresTarget.systemRootCertificates))

        /// The server's certificate must be of an authority in this file of PEM certificates, and name the host.
        public static func verified(rootCertificates path: String) -> Self { Self(kind: .verified(path)) }

        /// As `sslmode` and its companions in the connection string say. Without them, whoever is on the way can read and
        /// change everything.
        public static let asInConnectionString = Self(kind: .asInConnectionString)

        /// No TLS: for a server on the loopback interface.
        public static let disabled = Self(kind: .disabled)
    }

    /// Says where the database is, `host=… dbname=… user=… password=…` or `postgresql://…`. Called for each new
    /// connection, so that credentials may change while the store is in use.
    public var connectionString: @Sendable () async throws -> String
    /// The keys that secrets are sealed with, the same for all nodes.
    public var sealingKeys: SealingKeyRing
    /// The schema of the tables, which is made when it is missing and the role may.
    public var schema = "mobile_token"
    /// Lets tables be made and changed when they are missing or older than this package. Switch it off for a role with
    /// the least rights, and run ``PowerAuth/ActivationStore/migrate(grantingTo:)`` with another one.
    public var migrates = true
    /// The number of connections at most, beside one for the heartbeat.
    public var poolSize = 8
    /// The verification of the server's identity.
    public var tls: TLS = .verified
    /// The time that the server may take for a change or a query. A connection that is silent for two seconds longer counts as
    /// lost.
    public var statementTimeout: Duration = .seconds(5)
    /// The time that connecting may take.
    public var connectTimeout: Duration = .seconds(10)
    /// Takes it that a pooler may give each transaction another session: nothing is prepared or listened to then. What other
    /// nodes request is looked for four times a second instead.
    public var pollOnly = false
    /// The name of this node in `fleet status`, by default the machine and the process.
    public var nodeName = Self.defaultNodeName
    /// The heartbeat of a node and its limits; the same for all nodes.
    public var lifetimes = NodeLifetimes()
    /// A folder of this machine, outside the database, where it is noted how far each counter had come. A database that was
    /// put back to an earlier state is recognized by it.
    public var markFolder = Self.defaultMarkFolder
    /// The latest form of activations that this node announces to read; for tests of nodes of another version.
    package var newestFormat = RecordFormat.newest
    /// The steps that make the tables; for tests of tables that change.
    var steps = PostgresSchema.steps
    /// Paces heartbeats and attempts. How long this node relies on being alive is counted by the machine's clock.
    package var clock: any Clock<Duration> = ContinuousClock()

    /// Creates a configuration with the documented defaults.
    ///
    /// - Parameters:
    ///   - connectionString: The address of the database, as libpq takes it.
    ///   - sealingKeys: The keys that secrets are sealed with, the same for all nodes.
    public init(connectionString: String, sealingKeys: SealingKeyRing) {
        self.init(sealingKeys: sealingKeys) { connectionString }
    }

    /// Creates a configuration whose connection string may change.
    ///
    /// - Parameters:
    ///   - sealingKeys: The keys that secrets are sealed with, the same for all nodes.
    ///   - connectionString: Returns the string for a new connection, such as one with a fresh password.
    public init(sealingKeys: SealingKeyRing, connectionString: @escaping @Sendable () async throws -> String) {
        self.connectionString = connectionString
        self.sealingKeys = sealingKeys
    }

    /// `mobile-token` in the first of `$STATE_DIRECTORY` (which a service manager sets), `$XDG_STATE_HOME` and
    /// `~/.local/state`.
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
            // Whatever keeps the application from it may have passed at the next attempt.
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
    /// The tables of the store.
    var tables: PostgresSchema { PostgresSchema(name: self.schema, steps: self.steps) }
}
