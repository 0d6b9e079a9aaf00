import ExactJSON
import Foundation
import HTTPClientTransport
import MobileTokenCloud
import MobileTokenEmulator

/// The development server in a process of its own, reached as a foreign test suite reaches it.
struct EmulatorProcess: Sendable {
    /// The hidden subcommand that turns this program into the server.
    static let subcommand = "emulator"

    /// The server's description of itself.
    private struct Greeting: Codable {
        var baseURL: String
        var cloudURL: String
        var sdkConfiguration: String
        var credentials: String
        var user: String
        var password: String
    }

    /// The template of the approvals that cases ask for.
    private static let template = """
        {"name": "bench-deploy", "data": "A9*N${version}*R${binding}",
         "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge"]},
         "formData": {"title": "Deploy", "message": "${fingerprint}", "attributes": []}}
        """

    private let greeting: Greeting
    private let process: ServerProcess
    private let transport: CurlTransport

    var baseURL: String { self.greeting.baseURL }
    var cloudURL: String { self.greeting.cloudURL }
    var credentials: CloudClient.Credentials { .init(user: self.greeting.user, password: self.greeting.password) }
    var sdkConfiguration: String { self.greeting.sdkConfiguration }
    var processorNanoseconds: Double { get throws { try self.process.processorNanoseconds } }

    init() throws {
        self.process = try ServerProcess([Self.subcommand])
        self.greeting = try JSONDecoder().decode(Greeting.self, from: Data(self.process.greeting.utf8))
        self.transport = try CurlTransport()
    }

    /// Serves until the parent closes our standard input.
    static func run() async throws {
        var configuration = Emulator.Configuration()
        configuration.templates = [self.template]
        let emulator = try await Emulator.start(configuration: configuration)
        let credentials = Data("\(emulator.cloudUser):\(emulator.cloudPassword)".utf8).base64EncodedString()
        let greeting = Greeting(
            baseURL: emulator.baseURL,
            cloudURL: emulator.cloudURL,
            sdkConfiguration: emulator.sdkConfiguration,
            credentials: credentials,
            user: emulator.cloudUser,
            password: emulator.cloudPassword
        )
        FileHandle.standardOutput.write(try JSONEncoder().encode(greeting) + Data("\n".utf8))
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                while !FileHandle.standardInput.availableData.isEmpty {}
                continuation.resume()
            }
        }
        await emulator.stop()
    }

    /// A call of the cloud API.
    func control(_ path: String, _ body: JSONValue) async throws -> JSONValue {
        let request = HTTPRequest(
            url: "\(self.greeting.cloudURL)/v2/\(path)",
            headers: ["Content-Type": "application/json", "Authorization": "Basic \(self.greeting.credentials)"],
            body: body.serialized()
        )
        let response = try await self.transport.send(request)
        try check(response.status == 200)
        return try JSONValue(parsing: response.body)
    }

    func stop() async {
        await self.transport.shutdown()
        self.process.stop()
    }
}
