public import PowerAuth

extension ApprovalAgent {
    /// Creates an agent for all activations of a fleet, which it runs.
    ///
    /// - Parameters:
    ///   - fleet: The activations. An activation that ends does not end the agent.
    ///   - factors: Gives the factors of an activation to sign with. Called when they are needed, and again when
    ///     ``Configuration/factorLifetime`` is over. When it throws, the decision is tried again later.
    ///   - configuration: Everything else.
    ///   - policy: Decides. Called for one operation of an activation at a time, and for several activations at once.
    public init(
        fleet: OperationsFleet,
        factors: @escaping @Sendable (Activation) async throws -> Authentication,
        configuration: Configuration = Configuration(),
        policy: @escaping Policy
    ) {
        self.init(
            deciding: fleet,
            configuration: configuration,
            unlock: { try await factors(try await fleet.openedActivation($0.activationID)) },
            policy: policy
        )
    }

    /// Creates an agent for all activations of a fleet, of which each has its password unlocked.
    ///
    /// - Parameters:
    ///   - fleet: The activations. An activation that ends does not end the agent.
    ///   - factors: Gives the unlocked factor of an activation, such as by `unlockKnowledge(password:)`.
    ///   - configuration: Everything else.
    ///   - policy: Decides. Called for one operation of an activation at a time, and for several activations at once.
    public init(
        fleet: OperationsFleet,
        factors: @escaping @Sendable (Activation) async throws -> Authentication.UnlockedFactor,
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
    ///     else { return .leave }  // to people
    ///     return .approve
    /// }
    /// try await agent.run()  // throws why nothing more can be decided
    /// ```
    ///
    /// - Parameters:
    ///   - operations: The service of the activation's operations, which the agent polls as the service's configuration says.
    ///   - factors: Gives the factors to sign with. Called when they are needed, and again when
    ///     ``Configuration/factorLifetime`` is over. When it throws, the decision is tried again later.
    ///   - configuration: Everything else.
    ///   - policy: Decides. Called for one operation at a time.
    /// - Throws: ``MobileTokenError/Code/invalidConfiguration`` when the service is of a type that stands for an activation, or wraps
    ///   one, and gives no ``AuthenticatedChannel/evidence``.
    public init(
        operations: OperationsService,
        factors: @escaping @Sendable () async throws -> Authentication,
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

    /// Creates an agent for one activation of which the password is unlocked.
    ///
    /// ```swift
    /// let agent = try ApprovalAgent(
    ///     operations: operations,
    ///     factors: { try await activation.unlockKnowledge(password: password) }
    /// ) { review in
    ///     guard review.operation.name == "authorize_payment",
    ///         let total = review.total(in: "CZK"), total > 0, total <= 50
    ///     else { return .leave }  // to people
    ///     return .approve
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - operations: The service of the activation's operations, which the agent polls as the service's configuration says.
    ///   - factors: Gives the unlocked factor, such as by `unlockKnowledge(password:)`.
    ///   - configuration: Everything else.
    ///   - policy: Decides. Called for one operation at a time.
    /// - Throws: ``MobileTokenError/Code/invalidConfiguration`` when the service is of a type that stands for an activation, or wraps
    ///   one, and gives no ``AuthenticatedChannel/evidence``.
    public init(
        operations: OperationsService,
        factors: @escaping @Sendable () async throws -> Authentication.UnlockedFactor,
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
