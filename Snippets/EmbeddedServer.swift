// Runs a whole backend inside a test, and lets a client approve an operation at it.
import MobileToken
import MobileTokenEmulator

let emulator = try await Emulator.start()
let registration = try await emulator.cloud.register(userID: "alice")

var configuration = MobileTokenClient.Configuration()
configuration.store = ActivationStore.inMemory()
let client = try MobileTokenClient(
    baseURL: emulator.baseURL,
    sdkConfiguration: emulator.sdkConfiguration,
    configuration: configuration
)
let activation = try await client.activate(code: registration.activationQRCode, password: "1234")
try await emulator.cloud.commitRegistration(registration.id)

let payment = try await emulator.cloud.createOperation("payment", userID: "alice")
let operations = OperationsService(activation: activation)
for operation in try await operations.operations() {
    try await operations.authorize(operation, with: .possessionAndKnowledge(password: "1234"))
}
print(try await emulator.cloud.operation(payment.id).status)  // APPROVED
await emulator.stop()
