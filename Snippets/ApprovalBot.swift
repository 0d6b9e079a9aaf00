// Approves small payments as they appear, and rejects nothing by itself.
import MobileToken

// snippet.hide
func policyAllows(_ operation: UserOperation) -> Bool { operation.name == "authorize_payment" }
let (code, password, sdkConfiguration) = (CommandLine.arguments[1], CommandLine.arguments[2], CommandLine.arguments[3])
// snippet.show
let client = try MobileTokenClient(
    baseURL: "https://powerauth.example.com/enrollment-server",
    sdkConfiguration: sdkConfiguration  // the text that the server's administrator hands out
)
let activation = try await client.activate(code: code, name: "approval bot", password: password)
print("Compare with the server's side:", activation.fingerprint)

let operations = OperationsService(activation: activation)
try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { try await operations.poll(every: .seconds(7)) }
    for await change in operations.changes() {
        for operation in change.added where policyAllows(operation) {
            try await operations.authorize(operation, with: .possession(password: password))
        }
    }
}
