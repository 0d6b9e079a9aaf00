// A whole program that decides until it gets SIGTERM, and ends in order.
import Dispatch
import Foundation
import MobileToken

// snippet.hide
let arguments = CommandLine.arguments.dropFirst()
guard let url = arguments.first, let sdkConfiguration = arguments.dropFirst().first,
    let path = arguments.dropFirst(2).first, let password = arguments.dropFirst(3).first
else { exit(64) }
var configuration = MobileTokenClient.Configuration()
let store = ActivationStore.sqlite(path: path)
configuration.store = store
let client = try MobileTokenClient(baseURL: url, sdkConfiguration: sdkConfiguration, configuration: configuration)
// snippet.show
let agent = ApprovalAgent(
    fleet: client.makeFleet(),
    factors: { activation in try await activation.unlockKnowledge(password: password) }
) { review in
    review.operation.name == "login" ? .approve : .deferToPeople
}
let deciding = Task { try await agent.run() }
signal(SIGTERM, SIG_IGN)  // else it would end the process before the source tells of it
let termination = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
termination.setEventHandler { @Sendable in deciding.cancel() }  // `@Sendable`: not on the main actor, as this file is
termination.activate()
// snippet.hide
print("deciding")
fflush(nil)
// snippet.show
try await deciding.value  // returns when what was signed has come to its end
await client.shutdown()
// snippet.hide
await store.close()
print("ended in order")
