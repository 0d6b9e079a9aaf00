import APIDescriptions
package import CloudCalls

extension CloudClient {
    /// Creates an operation.
    ///
    /// When ``CloudError/isOutcomeUnknown``, the operation may be there: nobody can find it by ``NewOperation/externalID``, which need
    /// not be unique.
    public func createOperation(_ operation: NewOperation) async throws -> CloudResponse<Operation> {
        try await self.createOperation(operation.wire)
    }

    /// Creates an operation of what a server takes, also of what a development server alone does.
    package func createOperation(_ operation: NewCloudOperation) async throws -> CloudResponse<Operation> {
        try await self.call(CloudAPI.createOperation, operation) { Operation($0) }
    }

    /// Returns an operation as it is now.
    ///
    /// - Throws: ``CloudError/Code/operationNotFound``.
    public func operation(_ id: String) async throws -> CloudResponse<Operation> {
        try await self.call(CloudAPI.showOperation, id) { (wire) throws(Schema.Objection) in
            try Operation(wire, expecting: id)
        }
    }

    /// Cancels an operation that waits for a decision, and returns it as it is then.
    ///
    /// - Parameters:
    ///   - id: The operation.
    ///   - reason: A reason for the server and its callbacks.
    /// - Throws: ``CloudError/Code/operationNotChangeable`` for one that is over, ``CloudError/Code/operationNotFound``.
    @discardableResult
    public func cancelOperation(_ id: String, reason: String? = nil) async throws -> CloudResponse<Operation> {
        let cancellation = CloudAPI.Cancellation(reason: reason)
        return try await self.call(CloudAPI.cancelOperation, (id, cancellation)) { (wire) throws(Schema.Objection) in
            try Operation(wire, expecting: id)
        }
    }

    /// Makes the QR code with which a device without a network approves a pending operation.
    ///
    /// - Parameters:
    ///   - operationID: The operation's identifier.
    ///   - registrationID: The registration whose device the code is for.
    public func offlineCode(
        operation operationID: String,
        registration registrationID: String
    ) async throws -> CloudResponse<OfflineCode> {
        let signer = CloudAPI.OfflineSigner(registrationID: registrationID)
        return try await self.call(CloudAPI.makeOfflineCode, (operationID, signer)) { OfflineCode($0) }
    }
}
