// Shows the live list of an activation's operations.
import MobileToken

// snippet.hide
let client = try MobileTokenClient(
    baseURL: "https://powerauth.example.com/enrollment-server",
    sdkConfiguration: CommandLine.arguments[1]
)
let activation = try await client.activation(id: CommandLine.arguments[2])
// snippet.show
let operations = OperationsService(activation: activation)
try await withThrowingTaskGroup(of: Void.self) { group in
    group.addTask { try await operations.poll(every: .seconds(7)) }
    group.addTask {
        for await change in operations.changes() {
            for operation in change.added { print("new:", operation.name, operation.formData.title) }
        }
    }
    for try await _ in group {}  // ends with the error of polling
}
