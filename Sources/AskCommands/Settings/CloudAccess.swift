import CLinux
import CommandLineSupport
import Foundation
import MobileTokenApprovals
import MobileTokenCloud
import PowerAuth
import PowerAuthCrypto

/// The credentials of the server, from a file or the environment. They are never words, which other users of the machine can see.
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
        let variable = { (name: String) in ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        if let file = invocation[Self.option.name] ?? settings.cloud.credentialsFile ?? variable(Self.fileVariable) {
            let line = try SecretFile.firstLine(ofFile: file, naming: "credentials")
            try Self.closeDescriptor(named: file)
            let text = line.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
            let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
            guard parts.count == 2 else {
                throw ConfigurationError(message: "the first line of the credentials file is USER:PASSWORD")
            }
            self.credentials = .init(user: parts[0], password: parts[1])
        } else if let user = variable(Self.userVariable), let password = variable(Self.passwordVariable) {
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

    /// Closes the descriptor by which a file was handed over: the command would inherit it. Standard input is empty then.
    private static func closeDescriptor(named file: String) throws {
        if ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].contains(file) {
            let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)
            defer { close(nothing) }
            guard dup2(nothing, STDIN_FILENO) == STDIN_FILENO else {
                throw MobileTokenError.system("open", "/dev/null")
            }
        }
        for prefix in ["/dev/fd/", "/proc/self/fd/"] where file.hasPrefix(prefix) {
            if let descriptor = CInt(file.dropFirst(prefix.count)), descriptor > STDERR_FILENO { close(descriptor) }
        }
    }

    /// Returns a client of the server.
    func client(_ settings: AskSettings, timeout: Duration?) throws -> CloudClient {
        var configuration = CloudClient.Configuration()
        configuration.transport = try settings.transport(timeout: timeout)
        configuration.allowsInsecureHTTP = settings.cloud.allowsInsecureHTTP ?? false
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
