package import DecisionReceipts
import PowerAuthClient

#if Tracing
    import Tracing
#endif

extension AuthenticatedChannel {
    /// Runs `body` in a span, where the trait `Tracing` is on. Spans of requests in `body` are its children.
    ///
    /// It stays with the caller's actor: elsewhere it would cost each decision two changes of thread, with the trait and without.
    package func withSpan<Value>(
        _ name: String,
        of decision: DecisionIntent? = nil,
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Value
    ) async throws -> Value {
        #if Tracing
            guard let tracer = (self as? Activation)?.clientConfiguration.tracer else { return try await body() }
            return try await tracer.withAnySpan(name) { span in
                span.attributes["mobile_token.activation"] = self.activationID
                if let decision {
                    span.attributes["mobile_token.operation"] = decision.operationID
                    span.attributes["mobile_token.verdict"] = decision.verdict.rawValue
                }
                return try await body()
            }
        #else
            try await body()
        #endif
    }
}
