import PowerAuth
public import PowerAuthClient

extension ApprovalAgent {
    /// Creates an agent for all activations of a fleet, which it runs.
    ///
    /// - Parameters:
    ///   - fleet: The activations. The end of an activation does not end the agent.
    ///   - factors: Returns an activation's factors. Called when needed, and again after ``Configuration/factorLifetime``. If it
    ///     throws, the decision is retried later.
    ///   - configuration: All other settings.
    ///   - policy: Decides, on one operation per activation at a time, concurrently for several activations.
    public init(
        fleet: OperationsFleet,
        factors: @escaping @Sendable (Activation) async throws -> Activation.Authentication,
        configuration: Configuration = Configuration(),
        policy: @escaping Policy
    ) {
        self.init(
            deciding: fleet,
            configuration: configuration,
            unlock: { try await factors(try fleet.openedActivation($0.activationID)) },
            policy: policy
        )
    }

    /// Creates an agent for all activations of a fleet, each with an unlocked password.
    ///
    /// - Parameters:
    ///   - fleet: The activations. The end of an activation does not end the agent.
    ///   - factors: Returns an activation's unlocked factor, such as by `unlockKnowledge(password:)`.
    ///   - configuration: All other settings.
    ///   - policy: Decides, on one operation per activation at a time, concurrently for several activations.
    public init(
        fleet: OperationsFleet,
        factors: @escaping @Sendable (Activation) async throws -> Activation.Authentication.UnlockedFactor,
        configuration: Configuration = Configuration(),
        policy: @escaping Policy
    ) {
        self.init(
            fleet: fleet,
            factors: { .possessionAndKnowledge(unlocked: try await factors($0)) },
            configuration: configuration,
            policy: policy
        )
    }

    /// Creates an agent for one activation, which ends with it.
    ///
    /// ```swift
    /// let agent = try ApprovalAgent(operations: operations, factors: { .possessionAndKnowledge(password: password) }) { review in
    ///     guard review.operation.name == "authorize_payment",
    ///         let total = review.total(in: "CZK"), total > 0, total <= 50
    ///     else { return .deferToPeople }
    ///     return .approve
    /// }
    /// try await agent.run()  // throws why nothing more can be decided
    /// ```
    ///
    /// - Parameters:
    ///   - operations: The activation's operations service, which the agent polls with the service's settings.
    ///   - factors: Returns the factors to sign with. Called when needed, and again after ``Configuration/factorLifetime``. If it
    ///     throws, the decision is retried later.
    ///   - configuration: All other settings.
    ///   - policy: Decides, on one operation at a time.
    /// - Throws:
    ///   ``MobileTokenError/Code/invalidConfiguration`` if the service's activation is a replacement or a wrapper that provides no `evidence`.
    public init(
        operations: OperationsService,
        factors: @escaping @Sendable () async throws -> Activation.Authentication,
        configuration: Configuration = Configuration(),
        policy: @escaping Policy
    ) throws {
        self.init(
            deciding: try OperationsFleet(only: operations),
            configuration: configuration,
            unlock: { _ in try await factors() },
            policy: policy
        )
    }

    /// Creates an agent for one activation with an unlocked password.
    ///
    /// ```swift
    /// let agent = try ApprovalAgent(
    ///     operations: operations,
    ///     factors: { try await activation.unlockKnowledge(password: password) }
    /// ) { review in
    ///     guard review.operation.name == "authorize_payment",
    ///         let total = review.total(in: "CZK"), total > 0, total <= 50
    ///     else { return .deferToPeople }
    ///     return .approve
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - operations: The activation's operations service, which the agent polls with the service's settings.
    ///   - factors: Returns the unlocked factor, such as by `unlockKnowledge(password:)`.
    ///   - configuration: All other settings.
    ///   - policy: Decides, on one operation at a time.
    /// - Throws:
    ///   ``MobileTokenError/Code/invalidConfiguration`` if the service's activation is a replacement or a wrapper that provides no `evidence`.
    public init(
        operations: OperationsService,
        factors: @escaping @Sendable () async throws -> Activation.Authentication.UnlockedFactor,
        configuration: Configuration = Configuration(),
        policy: @escaping Policy
    ) throws {
        try self.init(
            operations: operations,
            factors: { .possessionAndKnowledge(unlocked: try await factors()) },
            configuration: configuration,
            policy: policy
        )
    }
}
