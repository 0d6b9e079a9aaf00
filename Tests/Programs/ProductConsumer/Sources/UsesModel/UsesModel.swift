import MobileToken
import MobileTokenApprovals
import MobileTokenTesting
import OtherTypes

/// Defect 28: no type of these products takes the place of a user's own, nor is one ambiguous with it. Types are named where only a type can
/// stand: an expression would choose among ambiguous ones by the member.
let own: [Bool] = [
    isOwn(of: Optional<Action>.none),
    isOwn(of: Optional<Approval>.none),
    isOwn(of: Optional<Authentication>.none),
    isOwn(of: Optional<Clock>.none),
    isOwn(of: Optional<Decision>.none),
    isOwn(of: Optional<EmptyBody>.none),
    isOwn(of: Optional<JSONError>.none),
    isOwn(of: Optional<JSONNumber>.none),
    isOwn(of: Optional<JSONObject>.none),
    isOwn(of: Optional<JSONValue>.none),
    isOwn(of: Optional<Logger>.none),
    isOwn(of: Optional<Observed>.none),
    isOwn(of: Optional<Operation>.none),
    isOwn(of: Optional<Parameter>.none),
    isOwn(of: Optional<Person>.none),
    isOwn(of: Optional<Request>.none),
    isOwn(of: Optional<Settlement>.none),
]

/// The first example of the README, under the same features.
func approve() async throws {
    try await withEmulator { emulator in
        let activation = try await emulator.makeActivation(user: "alice", password: "1234")
        let payment = try await emulator.cloud.createOperation("payment", userID: "alice")

        let operations = OperationsService(activation: activation)
        for operation in try await operations.operations() {
            print(operation.formData.title, operation.data)
            try await operations.authorize(operation, with: .possessionAndKnowledge(password: "1234"))
        }
        print(try await emulator.cloud.operation(payment.id).status)
    }
}

private func isOwn<Value: Own>(of none: Value?) -> Bool { Value.isOwn }
