import APIDescriptions
import Basics
package import CloudCalls

extension CloudClient {
    /// Registers a device for a user.
    ///
    /// - Parameters:
    ///   - registration: The user, and the settings of the registration.
    ///   - refusesOthersInProgress: `true` refuses while another registration of the user waits for its device or its commit.
    /// - Throws: ``CloudError/Code/registrationNotAllowed`` while there is another one.
    public func register(
        _ registration: NewRegistration,
        refusesOthersInProgress: Bool = false
    ) async throws -> CloudResponse<ActivationOffer> {
        try await self.register(registration.wire, refusesOthersInProgress: refusesOthersInProgress)
    }

    /// Registers a device by what a server takes, also by what a development server alone does.
    package func register(
        _ registration: NewCloudRegistration,
        refusesOthersInProgress: Bool = false
    ) async throws -> CloudResponse<ActivationOffer> {
        let check = CloudAPI.RegistrationCheck(refusesOthersInProgress: refusesOthersInProgress)
        return try await self.call(CloudAPI.register, (check, registration)) { (wire) throws(Schema.Objection) in
            guard let offer = ActivationOffer(wire) else {
                throw Schema.Objection(member: "activationCode", hint: "or 'activationQrCodeData' is missing")
            }
            return offer
        }
    }

    /// Returns a registration as it is now.
    ///
    /// - Throws: ``CloudError/Code/registrationNotFound``.
    public func registration(_ id: String) async throws -> CloudResponse<Registration> {
        try await self.call(CloudAPI.showRegistration, id) { (wire) throws(Schema.Objection) in
            try Registration(wire, expecting: id)
        }
    }

    /// Makes a registration active whose device has its keys.
    ///
    /// - Parameters:
    ///   - id: The registration.
    ///   - externalUserID: The person of the server side who is sure of the user.
    ///   - otp: The code, where it is asked for at the commit.
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

    /// Lets a device decide nothing, until it is unblocked.
    ///
    /// - Throws: ``CloudError/Code/registrationNotChangeable``.
    @discardableResult
    public func blockRegistration(_ id: String) async throws -> CloudResponse<Void> {
        try await self.change(CloudAPI.changeRegistration, (id, CloudAPI.RegistrationChange(change: .block)), of: id)
    }

    /// Ends the block of a device.
    ///
    /// - Throws: ``CloudError/Code/registrationNotChangeable``.
    @discardableResult
    public func unblockRegistration(_ id: String) async throws -> CloudResponse<Void> {
        try await self.change(CloudAPI.changeRegistration, (id, CloudAPI.RegistrationChange(change: .unblock)), of: id)
    }

    /// Removes a registration, and its activation with it, for good.
    ///
    /// - Throws: ``CloudError/Code/registrationNotChangeable`` for one that is removed.
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
            guard changed.id?.isExactly(id) ?? true else {
                throw Schema.Objection(member: "registrationId", hint: "is another one")
            }
        }
    }
}
