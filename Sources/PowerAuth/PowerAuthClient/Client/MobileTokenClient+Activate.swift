import Coordination
public import PowerAuthCrypto
import PowerAuthProtocol

extension MobileTokenClient {
    /// Activates with a code and stores the activation.
    ///
    /// - Parameters:
    /// - code: The code as shown to the user or read from a QR code: `CODE` or `CODE#SIGNATURE`.
    ///   - name: Shown to the user in lists of activations: 1 to 255 bytes of UTF-8 without control characters.
    /// - password: Protects the knowledge factor; at least 4 bytes. Never sent to the server.
    /// - otp: A one-time password that the server requires besides the code; see ``ActivationRequest/otp``.
    /// - Throws: ``MobileTokenError``, as ``activate(_:password:biometryKey:)``.
    public func activate(
        code: String,
        name: String? = nil,
        password: SecretBytes,
        otp: String? = nil
    ) async throws -> Activation {
        var request = try ActivationRequest(code: code)
        request.name = name
        request.otp = otp
        return try await self.activate(request, password: password).activation
    }

    /// Activates with a code and a password held as a string.
    public func activate(
        code: String,
        name: String? = nil,
        password: String,
        otp: String? = nil
    ) async throws -> Activation {
        try await self.activate(code: code, name: name, password: SecretBytes(utf8: password), otp: otp)
    }

    /// Activates with any credentials, extras and custom attributes, and returns the whole response.
    ///
    /// The store is opened and tested for writing before the code is consumed. If the calling task is canceled while the request
    /// is in flight, the activation is still stored in the background.
    ///
    /// - Parameters:
    ///   - request: The credentials and the data sent with them.
    ///   - password: Protects the knowledge factor; at least 4 bytes.
    ///   - biometryKey: Sets up the biometry factor too: 16 external bytes, from a file, KMS or HSM.
    /// - Throws: ``MobileTokenError``: a `store…` code, `invalidName` or `invalidRequest` before anything is sent;
    ///   ``MobileTokenError/Code/activationNotSaved`` if the new activation could not be stored;
    ///   ``MobileTokenError/Code/activationNotConfirmed`` if it is stored but still needs confirmation.
    public func activate(
        _ request: ActivationRequest,
        password: SecretBytes,
        biometryKey: SecretBytes? = nil
    ) async throws -> ActivationResult {
        try Password.validate(password)
        if let biometryKey { try BiometryUnlockKey.validate(biometryKey) }
        let creation = self.encryptionKeys.newActivation(request)
        if case .code(let code) = request.credentials, code.signature != nil, !creation.isSigned(code) {
            // The code was made by another party.
            throw MobileTokenError(.invalidActivationCode, "The activation code is not signed by the server")
        }
        try request.check()
        // The request consumes the code, so everything is checked before.
        try await self.proveStore()
        try await self.encryptionKeys.standard.prepare()
        try self.server.unfinished.begin()
        return try await UncancellableTask.run { caller in
            defer { self.server.unfinished.end() }
            let created = try await creation.perform(for: caller)
            let protection = NewKeyProtection(password: password, biometryKey: biometryKey)
            return try await self.keep(created, named: request.name, protection)
        }
    }

    /// Checks that the store is writable and that all processes sharing it can read a new activation.
    package func proveStore() async throws {
        try await MobileTokenError.mapStoreErrors {
            try await self.server.store.checkReaders(of: self.configuration.version)
            try await self.server.store.prove()
        }
    }

    /// Stores a new activation and, if the server requires it, confirms it.
    private func keep(
        _ created: CreatedActivation,
        named name: String?,
        _ protection: NewKeyProtection
    ) async throws -> ActivationResult {
        let activation = try await self.store(created, named: name, protection)
        do {
            if activation.version == .v4_0 { try await activation.confirm(password: protection.password) }
        } catch {
            let cause = (error as? MobileTokenError).map { ": \($0)" } ?? ""
            throw MobileTokenError(
                .activationNotConfirmed,
                "Activation \(created.activationID) is stored, but must still be confirmed\(cause)",
                underlying: error
            ).naming(created.activationID)
        }
        return ActivationResult(
            activation: activation,
            fingerprint: activation.fingerprint,
            recoveryCode: created.recovery,
            userData: created.userInfo,
            attributes: created.customAttributes
        )
    }

    /// Stores a new activation.
    ///
    /// - Throws: ``MobileTokenError/Code/activationNotSaved``, with the activation's identifier.
    private func store(
        _ created: CreatedActivation,
        named name: String?,
        _ protection: NewKeyProtection
    ) async throws -> Activation {
        do {
            let (keys, counter) = try await created.keys(protection)
            let record = ActivationRecord(
                activationID: created.activationID,
                name: name,
                applicationKey: self.server.application.applicationKey,
                createdAt: self.server.clocks.reading.wall,
                keys: keys,
                counter: counter
            )
            try await MobileTokenError.mapStoreErrors { try await self.server.store.insert(record) }
            return try self.activation(record)
        } catch {
            let cause = (error as? MobileTokenError).map { ": \($0)" } ?? ""
            throw MobileTokenError(
                .activationNotSaved,
                """
                The activation code is used, but activation \(created.activationID) could not be stored; \
                remove it at the server\(cause)
                """,
                underlying: error
            ).naming(created.activationID)
        }
    }
}

extension MobileTokenError {
    /// Returns the error with the activation's identifier.
    fileprivate func naming(_ activationID: String) -> Self {
        var error = self
        error.activationID = activationID
        return error
    }
}
