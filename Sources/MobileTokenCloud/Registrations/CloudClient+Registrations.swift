import CloudCalls
import EmulatorMessages

extension CloudClient {
    /// Returns a registration as it is now.
    ///
    /// - Throws: ``CloudError/Code/registrationNotFound``.
    public func registration(_ id: String) async throws -> CloudResponse<Registration> {
        try await self.call(CloudAPI.showRegistration, id) { (wire) throws(Schema.Objection) in
            try Registration(wire, expecting: id)
        }
    }
}
