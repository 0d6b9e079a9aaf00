// Decides for all activations of a store, and tells what it does.
import MobileToken

// snippet.hide
let (password, sdkConfiguration) = (CommandLine.arguments[1], CommandLine.arguments[2])
let client = try MobileTokenClient(
    baseURL: "https://powerauth.example.com/enrollment-server",
    sdkConfiguration: sdkConfiguration
)
// snippet.show
let agent = ApprovalAgent(
    fleet: client.makeFleet(),
    factors: { activation in try await activation.unlockKnowledge(password: password) }
) { review in
    guard review.operation.name == "authorize_payment",
        let total = review.total(in: "CZK"), total > 0, total <= 50
    else { return .deferToPeople }
    return .approve
}
async let running: Void = agent.run()
for await event in agent.events() { print(event) }
try await running
