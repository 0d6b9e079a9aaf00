import ApprovalDaemon
import Foundation
import HTTPClientTransport
import MobileToken

@main
enum Program {
    private static let help = """
        Usage: approval-daemon [--config FILE] [--check | --probe | --help]

        Approves operations by the rules in FILE, and leaves everything else to people.

          --config FILE   the configuration; by default $APPROVAL_DAEMON_CONFIG,
                          or /etc/approval-daemon/configuration.json
          --check         look at the configuration, the passwords and the folders as the user
                          that calls, and start nothing
          --probe         ask a running daemon's /health: 0 when it is well, 1 when not
          --help          show this

        SIGHUP: read the passwords again, and decide again with activations that were stopped.

        Exit status: 0 stopped by SIGTERM or SIGINT, 64 wrong arguments, 69 cannot listen,
        70 ended by an error, 74 the store cannot be used, 78 the configuration is refused.

        """

    static func main() async {
        do {
            let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
            guard arguments.mode != .help else {
                print(self.help, terminator: "")
                exit(0)
            }
            exit(await self.run(arguments).rawValue)
        } catch {
            FileHandle.standardError.write(Data("approval-daemon: \(error)\n".utf8))
            exit(ExitStatus.usage.rawValue)
        }
    }

    private static func run(_ arguments: Arguments) async -> ExitStatus {
        let writer = LogWriter()
        defer { writer.flush() }
        let logger = JSONLogger(writer)
        let environment = ProcessInfo.processInfo.environment
        do {
            let path = arguments.configurationFile(environment)
            let configuration = try DaemonConfiguration(file: path, environment: environment)
            if arguments.mode == .probe { return await self.probe(configuration.statusURL) }
            let daemon = try Daemon(configuration, writer: writer, environment: environment)
            guard arguments.mode == .run else {
                try configuration.checkAccess()
                if geteuid() == 0 { logger.log(.notice, "checked as root, who may use every file", [:]) }
                logger.log(.info, "configuration accepted", ["file": path])
                return .stopped
            }
            try await self.run(daemon)
            return .stopped
        } catch let error as ConfigurationError {
            logger.log(.error, "configuration refused", ["setting": error.setting, "problem": error.problem])
            return .configuration
        } catch let error as MobileTokenError where error.code.description.hasPrefix("store") {
            logger.log(.error, "the store cannot be used", ["error": error.description])
            return .store
        } catch {
            logger.log(.error, "ended", ["error": "\(error)"])
            return Daemon.isListeningFailure(error) ? .unavailable : .software
        }
    }

    /// Runs until a signal comes.
    private static func run(_ daemon: Daemon) async throws {
        let work = Task { try await daemon.run() }
        let signals = ServiceSignals(
            shutDown: { work.cancel() },
            reload: { Task { await daemon.readPasswordsAgain() } }
        )
        defer { signals.stop() }
        try await work.value
    }

    private static func probe(_ url: String) async -> ExitStatus {
        do {
            let transport = try CurlTransport()
            let request = HTTPRequest(.get, url: url + "/health", timeout: .seconds(5))
            let status = try await transport.send(request).status
            await transport.shutdown()
            return status == 200 ? .stopped : .unwell
        } catch {
            return .unwell
        }
    }
}

/// The arguments of the program.
private struct Arguments {
    enum Mode {
        case run, check, probe, help
    }

    struct Misuse: Error, CustomStringConvertible {
        let description: String
    }

    private(set) var mode = Mode.run
    private var file: String?

    init(_ words: [String]) throws {
        var rest = words[...]
        while let word = rest.popFirst() {
            switch word {
            case "--config":
                guard let file = rest.popFirst() else { throw Misuse(description: "--config is followed by a file") }
                self.file = file
            case "--check": self.mode = .check
            case "--probe": self.mode = .probe
            case "--help", "-h": self.mode = .help
            default: throw Misuse(description: "unknown argument; see --help")
            }
        }
    }

    func configurationFile(_ environment: [String: String]) -> String {
        self.file ?? environment["APPROVAL_DAEMON_CONFIG"] ?? "/etc/approval-daemon/configuration.json"
    }
}

/// The numbers of `sysexits.h`, so that a service manager can tell what a restart cannot mend.
private struct ExitStatus {
    let rawValue: Int32

    static let stopped = Self(rawValue: 0)
    static let unwell = Self(rawValue: 1)
    static let usage = Self(rawValue: 64)
    static let unavailable = Self(rawValue: 69)
    static let software = Self(rawValue: 70)
    static let store = Self(rawValue: 74)
    static let configuration = Self(rawValue: 78)
}
