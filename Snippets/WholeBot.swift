// A bot as a program: a policy, a log, a webhook for what is left to people, and an orderly end.
import Dispatch
import Foundation
import FoundationNetworking
import MobileToken

/// Tells people, at their own address, what the bot has left to them.
func tell(_ address: URL, of event: ApprovalAgent.Event) async {
    guard case .left(let reason) = event.kind, let operation = event.operation else { return }
    var request = URLRequest(url: address, timeoutInterval: 10)
    request.httpMethod = "POST"
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    // Neither amounts nor accounts: people look at the operation itself.
    let body = ["operation": operation.id, "name": operation.name, "reason": reason.description]
    request.httpBody = try? JSONEncoder().encode(body)
    do { _ = try await URLSession.shared.data(for: request) } catch { print("webhook: \(error)") }
}

let environment = ProcessInfo.processInfo.environment
guard let url = environment["BOT_URL"], let sdkConfiguration = environment["BOT_SDK_CONFIGURATION"],
    let path = environment["BOT_STORE"], let passwordFile = environment["BOT_PASSWORD_FILE"],
    let webhook = environment["BOT_WEBHOOK"].flatMap({ URL(string: $0) })
else { exit(64) }

let store = ActivationStore.sqlite(path: path)
var configuration = MobileTokenClient.Configuration()
configuration.store = store
let client = try MobileTokenClient(baseURL: url, sdkConfiguration: sdkConfiguration, configuration: configuration)

let agent = ApprovalAgent(
    fleet: client.makeFleet(),
    factors: { activation in
        let password = try String(contentsOfFile: passwordFile, encoding: .utf8).trimmingCharacters(in: .newlines)
        return try await activation.unlockKnowledge(password: password)
    }
) { review in
    guard review.operation.name == "authorize_payment" else { return .deferToPeople(reason: "another template") }
    guard let total = review.total(in: "CZK"), total > 0 else { return .deferToPeople(reason: "no total") }
    return total <= 50 ? .approve : .deferToPeople(reason: "over the limit")
}

let events = agent.events()  // before `run()`, so that none is missed
let telling = Task {
    for await event in events {
        print(event)  // a line that holds no secret
        await tell(webhook, of: event)
    }
}

let deciding = Task { try await agent.run() }
signal(SIGTERM, SIG_IGN)  // else it would end the process before the source tells of it
let termination = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
termination.setEventHandler { @Sendable in deciding.cancel() }  // `@Sendable`: not on the main actor, as this file is
termination.activate()

try await deciding.value  // returns when what was signed has come to its end
await telling.value  // its stream ends with the run, and what it is telling is told
await client.shutdown()
await store.close()  // the bot's own: a client ends only what it has made
