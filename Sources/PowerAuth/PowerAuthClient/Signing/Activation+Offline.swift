import PowerAuthProtocol

extension Activation {
    /// Makes an offline signature: groups of digits joined by `-`, for a person to type. Moves the counter; nothing is sent.
    package nonisolated func signOffline(
        _ data: [UInt8],
        nonce: [UInt8],
        uriID: String,
        componentLength: Int?,
        with authentication: Authentication
    ) async throws -> String {
        guard authentication.knowledge != nil || authentication.biometryKey != nil else {
            throw MobileTokenError(.invalidAuthentication, "An offline signature needs a second factor")
        }
        let componentLength = componentLength ?? self.server.configuration.offlineCodeDigits
        guard DecimalCode.componentLengths.contains(componentLength) else {
            throw MobileTokenError(.invalidRequest, "An offline signature must have 4 to 8 digits in each part")
        }
        return try await self.withSigningKeys(for: authentication) { keys in
            let reservation = try await self.takeOfflineCounter(for: keys)
            let data = SignatureData(method: "POST", uriID: uriID, nonce: nonce, body: data)
            return try keys.dialect.offlineSignature(
                SignatureInput(data: data, keys: keys, counter: reservation.value),
                componentLength: componentLength
            )
        }
    }

    private nonisolated func takeOfflineCounter(for keys: SigningKeys) async throws -> CounterLedger.Reservation {
        try await self.withSigningTurn { turn, _ in
            try self.checkNotRemoved()
            do {
                // Without a network nothing can be settled first; the next online signature does.
                guard
                    let reservation = try await self.takeCounter(
                        for: keys,
                        in: turn,
                        settled: .notRequired,
                        isSent: false
                    )
                else {
                    throw MobileTokenError.unknownActivation
                }
                self.observe(reservation, by: keys.type, to: nil)
                return reservation
            } catch is AwaitingConfirmation {
                throw MobileTokenError.activationNotConfirmed
            }
        }
    }
}
