// Activates with the code that it is given, and approves what waits when it is given none.
import Foundation
import MobileToken

let environment = ProcessInfo.processInfo.environment
let password = try String(contentsOfFile: "password", encoding: .utf8).trimmingCharacters(in: .newlines)

let store = ActivationStore.sqlite(path: "bot/activations.sqlite")
var configuration = MobileTokenClient.Configuration()
configuration.store = store
let client = try MobileTokenClient(
    baseURL: environment["MOBILE_TOKEN_URL", default: ""],
    sdkConfiguration: environment["MOBILE_TOKEN_SDK_CONFIGURATION", default: ""],
    configuration: configuration
)

if let code = CommandLine.arguments.dropFirst().first {
    let activation = try await client.activate(code: code, name: "first bot", password: password)
    print("Activated. Compare with the server's side:", activation.fingerprint)
} else {
    for activation in try await client.activations() {
        let operations = client.makeOperationsService(for: activation)
        for operation in try await operations.operations() {
            print("Approving", operation.formData.title, operation.data)
            try await operations.authorize(operation, with: .possessionAndKnowledge(password: password))
        }
    }
}

await client.shutdown()
await store.close()  // which the client was given, and so does not close
