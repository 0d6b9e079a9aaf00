import Coordination
import Foundation
public import PowerAuthCrypto
import PowerAuthProtocol

extension MobileTokenClient {
    /// Activates with a code, and stores the activation.
    ///
    /// - Parameters:
    ///   - code: As shown to the user or read from a QR code: `CODE` or `CODE#SIGNATURE`.
    ///   - name: Shown to the user in lists of activations: 1 to 255 bytes of UTF-8 without control characters.
    ///   - password: Protects the knowledge factor; at least 4 bytes. The server never sees it.
    ///   - otp: A one-time password that the server asks for besides the code.
    /// - Throws: ``MobileTokenError``, such as `invalidActivationCode` or `activationFailed`; see
    ///   ``activate(_:password:biometryKey:)``.
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

    /// Activates with a code, and with a password that is a string.
    public func activate(
        code: String,
        name: String? = nil,
        password: String,
        otp: String? = nil
    ) async throws -> Activation {
        try await self.activate(code: code, name: name, password: SecretBytes(utf8: password), otp: otp)
    }

    /// Activates with any credentials, extras and custom attributes, and returns everything that the server sent back.
    ///
    /// The store is opened, and shown to be writable, before anything is sent that would use up the code. When the calling
    /// task is canceled while the request is on the wire, the activation is still stored in the background: the server has
    /// used up the code by then.
    ///
    /// - Parameters:
    ///   - request: The credentials, and what the server is sent with them.
    ///   - password: Protects the knowledge factor: at least four bytes.
    ///   - biometryKey: Sets up the biometry factor too: 16 bytes from outside, such as a file, a KMS or an HSM.
    /// - Throws: ``MobileTokenError``. One of the `store…` codes or `invalidName` before the server is asked;
    ///   ``MobileTokenError/Code/activationNotSaved`` when the server has made an activation that could not be stored after
    ///   all; ``MobileTokenError/Code/activationNotConfirmed`` when it is stored and must still be confirmed.
    public func activate(
        _ request: ActivationRequest,
        password: SecretBytes,
        biometryKey: SecretBytes? = nil
    ) async throws -> ActivationResult {
        try Password.validate(password)
        if let biometryKey { try BiometryUnlockKey.validate(biometryKey) }
        let creation = self.encryptionKeys.newActivation(request)
        if case .code(let code) = request.credentials, code.signature != nil, !creation.isSigned(code) {
            // Another party made the code.
            throw MobileTokenError(.invalidActivationCode, "The activation code is not signed by the server")
        }
        if let name = request.name { try NameRule.check(name, of: "an activation") }
        // The server takes the code with the request: what can be found wrong is to be found before that.
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

    /// Shows that the store can hold another activation, and that every process that shares it could read it.
    func proveStore() async throws {
        try await MobileTokenError.mapStoreErrors {
            try await self.server.store.checkReaders(of: self.configuration.version)
            try await self.server.store.prove()
        }
    }

    /// Stores an activation that the server has made, and confirms it where the server waits for that.
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
            recovery: created.recovery,
            userInfo: created.userInfo,
            customAttributes: created.customAttributes
        )
    }

    /// Stores an activation that the server has made.
    ///
    /// - Throws: ``MobileTokenError/Code/activationNotSaved``, which names it.
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
    /// The same error, of an activation that was made.
    fileprivate func naming(_ activationID: String) -> Self {
        var error = self
        error.activationID = activationID
        return error
    }
}
