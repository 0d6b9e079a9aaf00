import PowerAuthProtocol

extension ServerConnection {
    /// Runs `ask`, which asks for a key of version 3, and finds out whether a refusal may be of the version: a server that has
    /// moved on to version 4 says no more than that it hands out no key.
    func explainingDemandOfVersion4<Value>(_ ask: () async throws -> Value) async throws -> Value {
        do {
            return try await ask()
        } catch let refusal as MobileTokenError where refusal.code == .temporaryKeyRefused {
            guard let suites = try? await self.suitesOnOffer(), !suites.isEmpty else { throw refusal }
            throw MobileTokenError(
                .temporaryKeyRefused,
                """
                The server refused version 3 of the protocol. It offers version 4.0 (\(suites.joined(separator: ", "))), \
                and may accept nothing else
                """,
                httpStatus: refusal.httpStatus,
                serverCode: refusal.serverCode,
                underlying: refusal
            )
        }
    }

    /// The suites of version 4 that the server offers to the application, by name.
    private func suitesOnOffer() async throws -> [String] {
        let request = OfferRequest(applicationKey: self.application.applicationKey)
        let path = try ServerEndpoint.serverStatus.path(in: .v4_0)
        return try await self.ask(path, for: nil, request, returning: Offer.self) { $0.supportedAlgorithms ?? [] }
    }

    private struct OfferRequest: Encodable { let applicationKey: String }
    private struct Offer: Decodable { let supportedAlgorithms: [String]? }
}
