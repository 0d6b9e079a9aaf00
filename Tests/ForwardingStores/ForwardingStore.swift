package import PowerAuth

/// A store in front of another one, which does something about each call, such as counting it, stopping in it or failing.
package protocol ForwardingStore: ActivationStore {
    var base: any ActivationStore { get }

    /// Makes one call of `base`.
    func passing<Result>(_ call: () async throws -> Result) async throws -> Result
}

extension ForwardingStore {
    package func passing<Result>(_ call: () async throws -> Result) async throws -> Result { try await call() }

    package func activationIDs() async throws -> [String] {
        try await self.passing { try await self.base.activationIDs() }
    }

    package func record(of activationID: String) async throws -> ActivationRecord? {
        try await self.passing { try await self.base.record(of: activationID) }
    }

    package func insert(_ record: ActivationRecord) async throws {
        try await self.passing { try await self.base.insert(record) }
    }

    @discardableResult
    package func update<Result: Sendable>(
        _ activationID: String,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try await self.passing { try await self.base.update(activationID, change) }
    }

    package func remove(_ activationID: String) async throws {
        try await self.passing { try await self.base.remove(activationID) }
    }

    /// What is done in the turn is done with this store.
    package func withSigningTurn<Result: Sendable>(
        of activationID: String,
        _ body: @Sendable (SigningTurn) async throws -> Result
    ) async throws -> Result {
        try await self.passing {
            try await self.base.withSigningTurn(of: activationID) { _ in
                try await self.passing { try await body(SigningTurn(of: activationID, in: self)) }
            }
        }
    }
}
