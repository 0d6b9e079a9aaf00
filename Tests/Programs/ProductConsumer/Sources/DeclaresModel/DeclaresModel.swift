import MobileToken
import MobileTokenApprovals
import MobileTokenTesting

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

func approve(_ id: String, of activation: Activation, _ password: SecretBytes) async throws {
    let service = OperationsService(activation: activation)
    guard let operation = try await service.operations().first(where: { $0.id == id }) else { return }
    try await service.authorize(operation, with: .possessionAndKnowledge(password: password))
}

private func isOwn<Value: Own>(of none: Value?) -> Bool { Value.isOwn }

protocol Own {}

extension Own { static var isOwn: Bool { true } }

struct Action: Own {}
struct Approval: Own {}
struct Authentication: Own {}
struct Clock: Own {}
struct Decision: Own {}
struct EmptyBody: Own {}
struct JSONError: Own {}
struct JSONNumber: Own {}
struct JSONObject: Own {}
struct JSONValue: Own {}
struct Logger: Own {}
struct Observed: Own {}
struct Operation: Own {}
struct Parameter: Own {}
struct Person: Own {}
struct Request: Own {}
struct Settlement: Own {}
