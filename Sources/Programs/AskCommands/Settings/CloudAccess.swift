import CLinux
import CommandLineSupport
import Foundation
import HTTPClientTransport
import MobileTokenApprovals
import MobileTokenCloud
import PowerAuthClient
import PowerAuthCrypto

/// The server's credentials, from a file or the environment. They are never arguments, which other users of the machine can see.
struct CloudAccess: Sendable {
    private static let userVariable = "MOBILE_TOKEN_CLOUD_USER"
    private static let passwordVariable = "MOBILE_TOKEN_CLOUD_PASSWORD"
    private static let fileVariable = "MOBILE_TOKEN_CLOUD_CREDENTIALS_FILE"

    /// The variables that a command does not inherit.
    static let variables: Set = [userVariable, passwordVariable, fileVariable]

    static let option = Command.Option(
        "cloud-credentials",
        "FILE",
        "a file, or /dev/fd/N, whose first line is USER:PASSWORD (default: the profile's, else $\(fileVariable), else "
            + "$\(userVariable) and $\(passwordVariable))"
    )

    let credentials: CloudClient.Credentials

    init(_ invocation: Invocation, _ settings: AskSettings) throws {
        if let file = Self.file(invocation, settings) {
            let identity = FileIdentity(file)
            let line = try SecretFile.firstLine(ofFile: file, naming: "credentials")
            if let identity { try Self.closeDescriptors(of: identity) }
            let text = line.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
            guard parts.count == 2 else {
                throw ConfigurationError(message: "the first line of the credentials file is USER:PASSWORD")
            }
            self.credentials = .init(user: parts[0], password: parts[1])
        } else if let user = Self.variable(Self.userVariable), let password = Self.variable(Self.passwordVariable) {
            self.credentials = .init(user: user, password: password)
        } else {
            throw ConfigurationError(
                message:
                    "there are no credentials: use --\(Self.option.name), or \(Self.userVariable) and \(Self.passwordVariable)"
            )
        }
        // Otherwise a command of the same user could read them in this process.
        _ = CLinux_forbidInspection()
    }

    /// Returns the credentials file; `nil` if the credentials are not in a file.
    static func file(_ invocation: Invocation, _ settings: AskSettings?) -> String? {
        invocation[self.option.name] ?? settings?.cloud.credentialsFile ?? self.variable(self.fileVariable)
    }

    private static func variable(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Replaces the descriptors of the credentials file, which the command would inherit, whatever name was used to open it.
    /// Standard input is then empty.
    private static func closeDescriptors(of file: FileIdentity) throws {
        let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard nothing >= 0 else { throw MobileTokenError.system("open", "/dev/null") }
        defer { close(nothing) }
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            guard let descriptor = CInt(name), descriptor != nothing, FileIdentity(descriptor: descriptor) == file
            else {
                continue
            }
            if descriptor == STDOUT_FILENO || descriptor == STDERR_FILENO {
                // A terminal shows the command's output, and does not repeat the credentials.
                guard !file.isDevice else { continue }
                throw ConfigurationError(message: "the credentials file is this program's output as well")
            }
            // The number stays in use: a later file would otherwise be inherited in its place.
            guard dup2(nothing, descriptor) == descriptor else { throw MobileTokenError.system("open", "/dev/null") }
            if descriptor != STDIN_FILENO { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        }
    }

    func client(_ settings: AskSettings, timeout: Duration?) throws -> CloudClient {
        var configuration = CloudClient.Configuration()
        let transport = try settings.transport(timeout: timeout)
        configuration.transport = transport
        configuration.allowsInsecureHTTP = settings.cloud.allowsInsecureHTTP ?? false
        let rule = BaseURLRule(
            allowsInsecureHTTP: configuration.allowsInsecureHTTP,
            requiresTLS: transport.requiresTLS
        )
        do { _ = try rule.validated(settings.cloud.url, "cloud.url") } catch {
            throw ConfigurationError(message: "the profile's \(error.message)")
        }
        do {
            return try CloudClient(
                baseURL: settings.cloud.url,
                credentials: self.credentials,
                configuration: configuration
            )
        } catch {
            throw ConfigurationError(message: "the profile's server: \(error.message)")
        }
    }
}
