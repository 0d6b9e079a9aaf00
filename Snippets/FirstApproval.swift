// Approves a payment at a development server inside this process.
import MobileToken
import MobileTokenTesting

try await withEmulator { emulator in
    let activation = try await emulator.makeActivation(user: "alice", password: "1234")
    let payment = try await emulator.cloud.createOperation("payment", userID: "alice")

    let operations = OperationsService(activation: activation)
    for operation in try await operations.operations() {
        print(operation.formData.title, operation.data)
        try await operations.authorize(operation, with: .possessionAndKnowledge(password: "1234"))
    }
    print(try await emulator.cloud.operation(payment.id).status)  // APPROVED
}
