// Approves small payments as they appear, and leaves everything else to people.
import Foundation
import MobileToken

// snippet.hide
let (code, password, sdkConfiguration) = (CommandLine.arguments[1], CommandLine.arguments[2], CommandLine.arguments[3])
// snippet.show
let client = try MobileTokenClient(
    baseURL: "https://powerauth.example.com/enrollment-server",
    sdkConfiguration: sdkConfiguration  // the string that the server's administrator hands out
)
let activation = try await client.activate(code: code, name: "approval bot", password: password)
print("Compare with the server's side:", activation.fingerprint)

let operations = OperationsService(activation: activation)
let agent = try ApprovalAgent(
    operations: operations,
    factors: { try await activation.unlockKnowledge(password: password) }
) { review in
    guard review.operation.name == "authorize_payment",
        let total = review.total(in: "CZK"), total > 0, total <= 50
    else { return .deferToPeople }
    return .approve
}
try await agent.run()
