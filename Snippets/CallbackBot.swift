// Looks at the list when a callback says that something has changed, and decides by the list alone.
import Foundation
import MobileToken
import MobileTokenNotifications

/// A bot that its own web server wakes, and that polls only now and then, for the callbacks that were lost.
struct CallbackBot: Sendable {
    private let operations: OperationsService
    private let agent: ApprovalAgent

    init(activation: Activation, password: String) throws {
        var configuration = OperationsService.Configuration()
        configuration.pollInterval = .seconds(900)
        let operations = OperationsService(activation: activation, configuration: configuration)
        self.operations = operations
        self.agent = try ApprovalAgent(
            operations: operations,
            factors: { try await activation.unlockKnowledge(password: password) }
        ) { review in
            review.operation.name == "login" ? .approve : .deferToPeople
        }
    }

    /// Decides until the calling task is canceled.
    func run() async throws { try await self.agent.run() }

    /// Handles the body of a request, for the web server; returns the status to respond with.
    ///
    /// Anybody who knows the address may have sent it. So it says when to look, and never what there is to see: the list is
    /// fetched from the server, and the policy decides by that.
    func callbackReceived(_ body: [UInt8]) -> Int {
        guard let callback = OperationCallback(parsing: body) else { return 400 }
        self.operations.handle(callback)
        return 204
    }
}

// snippet.hide
// In the place of a web server: a body on each line of the standard input, and a status on each line of the output.
let environment = ProcessInfo.processInfo.environment
var configuration = MobileTokenClient.Configuration()
configuration.store = ActivationStore.inMemory()
let client = try MobileTokenClient(
    baseURL: environment["MOBILE_TOKEN_URL"] ?? "",
    sdkConfiguration: environment["MOBILE_TOKEN_SDK_CONFIGURATION"] ?? "",
    configuration: configuration
)
let activation = try await client.activate(code: CommandLine.arguments[1], password: CommandLine.arguments[2])
let bot = try CallbackBot(activation: activation, password: CommandLine.arguments[2])
FileHandle.standardOutput.write(Data("activated\n".utf8))
Thread.detachNewThread {
    while let body = readLine() {
        let status = bot.callbackReceived(Array(body.utf8))
        FileHandle.standardOutput.write(Data("\(status)\n".utf8))
    }
}
try await bot.run()
