// Approves the operation of a QR code without a network.
import MobileToken
import MobileTokenOffline

// snippet.hide
let (activationID, password, text) = (CommandLine.arguments[1], CommandLine.arguments[2], CommandLine.arguments[3])
let client = try MobileTokenClient(
    baseURL: "https://powerauth.example.com/enrollment-server",
    sdkConfiguration: CommandLine.arguments[4]
)
// snippet.show
let operations = OperationsService(activation: try await client.activation(id: activationID))

let received = try OfflineOperation.Unverified(parsing: text)
let operation = try operations.verify(received)  // nothing is shown that the server did not sign
print(operation.title, operation.message)
print(try await operations.authorize(offline: received, with: .possessionAndKnowledge(password: password)))
