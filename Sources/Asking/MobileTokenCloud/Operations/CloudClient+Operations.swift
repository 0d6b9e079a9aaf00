import APIDescriptions

extension CloudClient {
    /// Creates an operation.
    ///
    /// With ``CloudError/isOutcomeUnknown``, the operation may exist, but cannot be found by ``NewOperation/externalID``, which
    /// need not be unique.
    @discardableResult
    public func createOperation(_ operation: NewOperation) async throws -> CloudResponse<Operation> {
        try await self.call(CloudAPI.createOperation, operation)
    }

    /// Returns the current state of an operation.
    ///
    /// - Throws: ``CloudError/Code/operationNotFound``.
    public func operation(_ id: String) async throws -> CloudResponse<Operation> {
        try await self.call(CloudAPI.showOperation, id) { (operation) throws(Schema.Objection) in
            try operation.of(id)
        }
    }

    /// Cancels a pending operation, and returns its new state.
    ///
    /// - Parameters:
    ///   - id: The operation.
    ///   - reason: The reason for the server and its callbacks.
    /// - Throws: ``CloudError/Code/operationNotChangeable`` for an ended operation, ``CloudError/Code/operationNotFound``.
    @discardableResult
    public func cancelOperation(_ id: String, reason: String? = nil) async throws -> CloudResponse<Operation> {
        try await self.call(CloudAPI.cancelOperation, (id, reason)) { (operation) throws(Schema.Objection) in
            try operation.of(id)
        }
    }

    /// Makes the QR code for approving a pending operation on a device without a network.
    ///
    /// - Parameters:
    ///   - operationID: The operation's identifier.
    ///   - registrationID: The registration of the device.
    public func offlineCode(
        operation operationID: String,
        registration registrationID: String
    ) async throws -> CloudResponse<OfflineCode> {
        let signer = CloudAPI.OfflineSigner(registrationID: registrationID)
        return try await self.call(CloudAPI.makeOfflineCode, (operationID, signer))
    }
}
