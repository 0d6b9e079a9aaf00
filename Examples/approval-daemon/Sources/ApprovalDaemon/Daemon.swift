import Foundation
import HTTPClientTransport
import MobileToken
import Synchronization
import MobileTokenReceipts

/// Decides the operations of all activations of a store by the rules of its configuration, until its task is canceled.
public final class Daemon: Sendable {
    private let configuration: DaemonConfiguration
    private let logger: JSONLogger
    private let metrics = MetricsRegistry()
    private let board: StatusBoard
    private let store: ActivationStore
    private let transport: CurlTransport
    private let client: MobileTokenClient
    private let agent: ApprovalAgent
    private let passwords: PasswordFile
    private let clock: any Clock<Duration>
    private let listeningPort = Mutex<UInt16?>(nil)

    /// Puts the daemon together. Nothing is opened or sent yet, except that the passwords are looked at.
    ///
    /// - Parameters:
    ///   - writer: Takes the lines of the log.
    ///   - environment: The environment variables in which systemd names its credentials.
    /// - Throws: ``ConfigurationError`` for what cannot work.
    public convenience init(
        _ configuration: DaemonConfiguration,
        writer: LogWriter,
        environment: [String: String] = [:]
    ) throws {
        try self.init(configuration, writer: writer, environment: environment, surroundings: Surroundings())
    }

    /// The parts that tests replace: time, and the transport between the client and the network.
    struct Surroundings: Sendable {
        var clock: any Clock<Duration> = ContinuousClock()
        var wallClock: @Sendable () -> Date = { Date() }
        var wrap: @Sendable (CurlTransport) -> any HTTPTransport = { $0 }
    }

    init(
        _ configuration: DaemonConfiguration,
        writer: LogWriter,
        environment: [String: String] = [:],
        surroundings: Surroundings
    ) throws {
        let logger = JSONLogger(writer, level: configuration.logLevel, now: surroundings.wallClock)
        let passwords = PasswordFile(
            path: configuration.passwordFile,
            credentialsFolder: environment["CREDENTIALS_DIRECTORY"]
        )
        try passwords.check()
        self.configuration = configuration
        self.logger = logger
        self.passwords = passwords
        self.clock = surroundings.clock
        self.board = StatusBoard(
            metrics: self.metrics,
            writer: writer,
            maximumPollAge: configuration.status.maximumPollAge,
            now: Self.stopwatch()
        )
        self.store = Self.store(configuration.store)
        self.transport = try Self.transport(configuration.server)
        self.client = try Self.client(
            configuration.server,
            store: self.store,
            transport: surroundings.wrap(self.transport),
            logger,
            self.metrics,
            surroundings
        )
        self.agent = Self.agent(configuration, self.client, passwords, logger)
    }

    /// The port of the health endpoint, while it listens.
    var port: UInt16? { self.listeningPort.withLock { $0 } }

    /// Returns whether a daemon ended because it could not listen.
    public static func isListeningFailure(_ error: any Error) -> Bool { error is StatusServer.Failure }

    // MARK: Life

    /// Opens the store, listens, and decides until the calling task is canceled. Then it begins nothing new, lets what is signed
    /// come to its end for no longer than the time of grace, exports the receipts, and closes what it opened.
    ///
    /// - Throws: The error that keeps it from starting, or ends it. ``ConfigurationError`` when the sealing key is not
    ///   the store's.
    public func run() async throws {
        try await self.openStore()
        let server: StatusServer
        do {
            server = try StatusServer(host: self.configuration.status.host, port: self.configuration.status.port) {
                [board] in board.respond(to: $0)
            }
        } catch {
            await self.close()
            throw error
        }
        self.listeningPort.withLock { $0 = server.port }
        self.logStart(server.port)
        let result = await withTaskCancellationHandler {
            await self.decide()
        } onCancel: {
            self.board.beginShutdown()
            self.logger.log(.info, "shutting down", [:])
        }
        await self.exportReceipts()
        await self.close()
        self.listeningPort.withLock { $0 = nil }
        server.stop()
        try result.get()
        self.logger.log(.info, "stopped", [:])
    }

    private func openStore() async throws {
        do {
            try await self.store.open()
        } catch let error as MobileTokenError {
            throw self.configuration.store.refusal(error) ?? error
        }
    }

    private func decide() async -> Result<Void, any Error> {
        await withTaskGroup { group in
            group.addTask { await self.keepStatus() }
            group.addTask { await self.keepExporting() }
            group.addTask { await self.keepMeasuring() }
            let result: Result<Void, any Error>
            do {
                result = .success(try await self.agent.run())
            } catch {
                result = .failure(error)
            }
            group.cancelAll()
            return result
        }
    }

    private func close() async {
        await self.client.shutdown()
        await self.transport.shutdown()
        await self.store.close()
    }

    private func logStart(_ port: UInt16) {
        if self.configuration.approvesNothing {
            self.logger.log(.warning, "no rule: everything is left to people", [:])
        }
        self.logger.log(
            .info,
            "started",
            [
                "bank": self.configuration.server.baseURL, "store": self.configuration.store.path,
                "policy": self.configuration.policy.name, "policyVersion": self.configuration.policy.version,
                "rules": String(self.configuration.policy.rules.count),
                "limits": String(self.configuration.policy.limits.count),
                "status": StatusServer.url(host: self.configuration.status.host, port: port),
            ]
        )
    }

    // MARK: Beside it

    private func keepStatus() async {
        repeat {
            self.board.update(self.agent.health)
        } while (try? await self.clock.sleep(for: .seconds(1))) != nil
    }

    private func keepExporting() async {
        while (try? await self.clock.sleep(for: self.configuration.receipts.interval)) != nil {
            await self.exportReceipts()
        }
    }

    private func keepMeasuring() async {
        repeat {
            await self.measureReceipts()
            await self.measureLimits()
        } while (try? await self.clock.sleep(for: .seconds(60))) != nil
    }

    /// Sets the gauges of what the store holds, or removes them: old figures would look like present ones.
    private func measureReceipts() async {
        let figures = try? await self.store.receiptFigures()
        self.metrics.replace("approval_daemon_receipts_unexported", with: figures.map { Double($0.unexportedCount) })
        self.metrics.replace("approval_daemon_receipts_bytes", with: figures.map { Double($0.byteCount) })
        self.metrics.replace(
            "approval_daemon_receipts_exported_timestamp_seconds",
            with: figures?.lastExport?.timeIntervalSince1970
        )
    }

    /// The number of activations whose limits are measured: a gauge is no reason to read a large store.
    private static let measuredActivationCount = 100

    /// Sets the gauges of the limits: of each, the window that is fullest among the activations.
    private func measureLimits() async {
        guard !self.configuration.policy.limits.isEmpty else { return }
        var fullest: [[String]: ApprovalAgent.LimitUse] = [:]
        for id in ((try? await self.client.activationIDs()) ?? []).prefix(Self.measuredActivationCount) {
            for use in (try? await self.agent.limitUse(of: id)) ?? [] {
                let key = [use.limit, use.currency ?? ""]
                if fullest[key].map({ $0.used < use.used }) ?? true { fullest[key] = use }
            }
        }
        for name in ["used", "allowed"] { self.metrics.clear("approval_daemon_limit_\(name)") }
        for (key, use) in fullest {
            let labels = [("limit", key[0]), ("currency", key[1])].filter { !$0.1.isEmpty }
            let (used, allowed) = (NSDecimalNumber(decimal: use.used), NSDecimalNumber(decimal: use.allowed))
            self.metrics.record(used.doubleValue, "approval_daemon_limit_used", labels, .gauge)
            self.metrics.record(allowed.doubleValue, "approval_daemon_limit_allowed", labels, .gauge)
        }
    }

    private func exportReceipts() async {
        guard let folder = self.configuration.receipts.folder else { return }
        do {
            let export = try await ReceiptArchive(folder: folder).export(from: self.client)
            self.metrics.count("approval_daemon_receipt_exports_total", ("outcome", "succeeded"))
            self.logger.log(.info, "receipts exported", ["entries": String(export.entryCount)])
        } catch {
            // They stay in the store, and the next export begins where this one did.
            self.metrics.count("approval_daemon_receipt_exports_total", ("outcome", "failed"))
            self.logger.log(.error, "receipts not exported", ["error": "\(error)"])
        }
        await self.measureReceipts()
    }

    // MARK: From outside

    /// Looks at the passwords again, and decides again with the activations that were stopped and have one. A file that is refused
    /// changes nothing.
    public func readPasswordsAgain() async {
        do {
            try self.passwords.check()
        } catch {
            self.logger.log(.error, "passwords refused", ["error": "\(error)"])
            return
        }
        self.logger.log(.info, "passwords read", [:])
        for activationID in self.agent.stoppedActivations.keys.sorted() {
            guard (try? self.passwords.password(of: activationID)) != nil else {
                self.logger.log(.error, "password not read", ["activation": activationID, "error": "there is none"])
                continue
            }
            await self.agent.resumeDeciding(with: activationID)
        }
    }
}
