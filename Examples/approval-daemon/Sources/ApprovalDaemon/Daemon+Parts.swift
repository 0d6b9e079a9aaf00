import Foundation
import HTTPClientTransport
import MobileToken

// MARK: - The parts

extension Daemon {
    static func store(_ settings: DaemonConfiguration.Store) -> ActivationStore {
        ActivationStore.sqlite(path: settings.path, sealingKey: settings.sealingKey)
    }

    static func transport(_ settings: DaemonConfiguration.Server) throws -> CurlTransport {
        var configuration = CurlTransport.Configuration()
        if let file = settings.certificateAuthorityFile {
            configuration.tls.validation = .certificateAuthority(file: file)
        }
        configuration.tls.pinnedPublicKeys = settings.publicKeyPins
        do {
            return try CurlTransport(configuration: configuration)
        } catch {
            throw ConfigurationError("server", "\(error)")
        }
    }

    static func client(
        _ settings: DaemonConfiguration.Server,
        store: ActivationStore,
        transport: any HTTPTransport,
        _ logger: JSONLogger,
        _ metrics: MetricsRegistry,
        _ surroundings: Surroundings
    ) throws -> MobileTokenClient {
        var configuration = MobileTokenClient.Configuration()
        configuration.powerAuthURL = settings.powerAuthURL
        configuration.store = store
        configuration.transport = transport
        #if ServerLibraries
            configuration.logger = logger.makeLogger()
            configuration.observer = MetricsObserver(factory: metrics)
        #else
            configuration.observer = Telemetry(logger: logger, metrics: metrics)
        #endif
        configuration.clock = surroundings.clock
        configuration.wallClock = surroundings.wallClock
        do {
            return try MobileTokenClient(
                baseURL: settings.baseURL,
                sdkConfiguration: settings.sdkConfiguration,
                configuration: configuration
            )
        } catch {
            throw Self.configurationError(error.message)
        }
    }

    /// The client's message begins with the name of what is wrong, which is the member's as well.
    private static func configurationError(_ message: String) -> ConfigurationError {
        guard let colon = message.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            return ConfigurationError("server", message)
        }
        let problem = message[message.utf8.index(after: colon)...].utf8.drop { $0 == UInt8(ascii: " ") }
        return ConfigurationError("server.\(message[..<colon])", String(decoding: problem, as: UTF8.self))
    }

    static func agent(
        _ settings: DaemonConfiguration,
        _ client: MobileTokenClient,
        _ passwords: PasswordFile,
        _ logger: JSONLogger
    ) -> ApprovalAgent {
        var fleet = OperationsFleet.Configuration()
        fleet.pollInterval = settings.polling.interval
        fleet.limits = settings.polling.limits
        var configuration = ApprovalAgent.Configuration()
        configuration.policyName = settings.policy.name
        configuration.policyVersion = settings.policy.version
        configuration.gracePeriod = settings.gracePeriod
        configuration.limits = settings.policy.limits
        return ApprovalAgent(
            fleet: client.makeFleet(configuration: fleet),
            factors: { activation in
                let password = try Self.logging("password not read", of: activation, logger) {
                    try passwords.password(of: activation.activationID)
                }
                return try await activation.unlockKnowledge(password: password)
            },
            configuration: configuration
        ) { [policy = settings.policy] review in policy.judge(review) }
    }

    /// Runs `body`, and logs what is wrong with a setting that it needs.
    private static func logging<Result>(
        _ message: String,
        of activation: Activation,
        _ logger: JSONLogger,
        _ body: () throws -> Result
    ) throws -> Result {
        do {
            return try body()
        } catch let error as ConfigurationError {
            logger.log(.error, message, ["activation": activation.activationID, "error": error.description])
            throw error
        }
    }

    /// Returns what reads the time that has passed while the machine was awake, whatever everything else waits on.
    static func stopwatch() -> @Sendable () -> Duration {
        let start = SuspendingClock.now
        return { start.duration(to: .now) }
    }
}
