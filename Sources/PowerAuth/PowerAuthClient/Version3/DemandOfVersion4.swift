import PowerAuthProtocol

extension ServerConnection {
    /// Runs `ask`, which requests a version 3 key, and explains a refusal: servers of version 4 only refuse it without a reason.
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

    /// The version 4 suites that the server offers to the application.
    private func suitesOnOffer() async throws -> [String] {
        let request = OfferRequest(applicationKey: self.application.applicationKey)
        let path = try ServerEndpoint.serverStatus.path(in: .v4_0)
        return try await self.ask(path, for: nil, request, returning: Offer.self) { $0.supportedAlgorithms ?? [] }
    }

    private struct OfferRequest: Encodable { let applicationKey: String }
    private struct Offer: Decodable { let supportedAlgorithms: [String]? }
}
