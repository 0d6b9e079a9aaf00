import APIDescriptions
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

extension Version4 {
    /// The password's and biometry's keys, which a device can replace.
    enum FactorEndpoints {
        static let routes: [Backend.Route] = [
            .version4(.passwordChange, "Agrees on another key for the password.", refusing: Refusal.passwordChange) {
                (bank, call, context) throws(Refusal) in
                // Since the response may be lost, the new key waits beside the current one until one of them is used.
                try Self.agree(&bank, call, &context, refusing: Refusal.passwordChange) {
                    $0.factorKeys.knowledge.replace(with: $1)
                }
            },
            .version4(.biometryAdd, "Agrees on a key for biometry.", refusing: Refusal.biometry) {
                (bank, call, context) throws(Refusal) in
                try Self.agree(&bank, call, &context, refusing: Refusal.biometry) {
                    $0.factorKeys.biometry.replace(with: $1)
                }
            },
            .version4(.biometryRemove, "Turns biometry off.", takes: .ignored) { (bank, call, context) in
                bank.updateKeys(of: call.activation.id, &context) { $0.factorKeys.biometry.remove() }
                return nil
            },
        ]

        /// Agrees on a secret, which is the new key.
        private static func agree(
            _ bank: inout Backend,
            _ call: Call,
            _ context: inout RequestContext,
            refusing refusal: (String) -> Refusal,
            _ change: (inout Keys, SecretBytes) -> Void
        ) throws(Refusal) -> JSONValue? {
            guard let request = (try? call.parameters())?.message(SharedSecretRequest.self) else {
                throw refusal("the request is not of the form of its suite")
            }
            guard request.suite == call.keys.suite, bank.protocolRules.acceptsSuite(request.suite) else {
                throw refusal("the suite \(request.suite.rawValue) is not accepted")
            }
            var randomness = bank.state.randomness
            do {
                let agreement = try request.agree(using: &randomness)
                bank.state.randomness = randomness
                bank.updateKeys(of: call.activation.id, &context) { change(&$0, agreement.secret) }
                return .encoding(agreement.response)
            } catch {
                throw refusal("the keys are refused: \(error)")
            }
        }
    }
}
