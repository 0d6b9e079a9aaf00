import APIDescriptions
import Basics

extension CloudClient {
    /// Registers a device for a user.
    ///
    /// - Parameters:
    ///   - registration: The user and the settings of the registration.
    ///   - refusesOthersInProgress: Fails if another registration of the user awaits its device or commit.
    /// - Throws: ``CloudError/Code/registrationNotAllowed`` if there is another one.
    public func register(
        _ registration: NewRegistration,
        refusesOthersInProgress: Bool = false
    ) async throws -> CloudResponse<ActivationOffer> {
        try await self.call(CloudAPI.register, (refusesOthersInProgress, registration)) {
            (registration) throws(Schema.Objection) in
            guard let offer = ActivationOffer(registration) else {
                throw Schema.Objection(member: "activationCode", hint: "or 'activationQrCodeData' is missing")
            }
            return offer
        }
    }

    /// Returns the current state of a registration.
    ///
    /// - Throws: ``CloudError/Code/registrationNotFound``.
    public func registration(_ id: String) async throws -> CloudResponse<Registration> {
        try await self.call(CloudAPI.showRegistration, id) { (registration) throws(Schema.Objection) in
            try registration.of(id)
        }
    }

    /// Returns a user's registrations that are not removed, if the server supports this undocumented call.
    package func registrations(of user: String) async throws -> CloudResponse<[Registration]> {
        let filter = CloudAPI.RegistrationFilter(userID: user, showsRemoved: false)
        return try await self.call(CloudAPI.listRegistrations, filter) { (registrations) throws(Schema.Objection) in
            for registration in registrations { _ = try registration.of(registration.id) }
            return registrations
        }
    }

    /// Activates a registration after the key exchange.
    ///
    /// - Parameters:
    ///   - id: The registration.
    ///   - externalUserID: The person on the server side who verified the user.
    ///   - otp: The code, if required at the commit.
    /// - Throws: ``CloudError/Code/registrationNotChangeable``, also for a wrong code.
    @discardableResult
    public func commitRegistration(
        _ id: String,
        externalUserID: String? = nil,
        otp: String? = nil
    ) async throws -> CloudResponse<Void> {
        let commit = CloudAPI.RegistrationCommit(externalUserID: externalUserID, otp: otp)
        return try await self.change(CloudAPI.commitRegistration, (id, commit), of: id)
    }

    /// Blocks a device from deciding until it is unblocked.
    ///
    /// - Throws: ``CloudError/Code/registrationNotChangeable``.
    @discardableResult
    public func blockRegistration(_ id: String) async throws -> CloudResponse<Void> {
        try await self.change(CloudAPI.changeRegistration, (id, .block), of: id)
    }

    /// Unblocks a device.
    ///
    /// - Throws: ``CloudError/Code/registrationNotChangeable``.
    @discardableResult
    public func unblockRegistration(_ id: String) async throws -> CloudResponse<Void> {
        try await self.change(CloudAPI.changeRegistration, (id, .unblock), of: id)
    }

    /// Permanently removes a registration with its activation.
    ///
    /// - Throws: ``CloudError/Code/registrationNotChangeable`` for a removed one.
    @discardableResult
    public func removeRegistration(_ id: String) async throws -> CloudResponse<Void> {
        try await self.change(CloudAPI.removeRegistration, id, of: id)
    }

    private func change<Input>(
        _ endpoint: Endpoint<Input, CloudAPI.ChangedRegistration>,
        _ input: Input,
        of id: String
    ) async throws -> CloudResponse<Void> {
        try await self.call(endpoint, input) { (changed) throws(Schema.Objection) in
            try changed.id?.mustBe(id, "registrationId")
        }
    }
}
