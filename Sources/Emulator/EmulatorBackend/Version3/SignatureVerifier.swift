package import PowerAuthCrypto
package import PowerAuthProtocol

/// The server's side of a request signature: tries the client's possible counters.
package struct SignatureVerifier: Sendable {
    /// A counter under which a signature is valid.
    package struct Match: Sendable, Equatable {
        /// The client's lead over the server's counter, in steps.
        package let offset: Int
        /// The counter after the match, for the server to store.
        package let nextCounter: HashCounter

        package init(offset: Int, nextCounter: HashCounter) {
            self.offset = offset
            self.nextCounter = nextCounter
        }
    }

    private let data: SignatureData
    private let keys: [SecretBytes]
    private let secret: SigningSecret

    /// Creates a verifier for signatures of `data` by the keys of the declared factors, in order.
    package init(_ data: SignatureData, keys: [SecretBytes], secret: SigningSecret) {
        self.data = data
        self.keys = keys
        self.secret = secret
    }

    /// Returns the first counter, starting with the server's, under which an online signature is valid.
    package func match(
        online signature: [UInt8],
        counter: HashCounter,
        lookAhead: Int = LookAhead.standard
    ) -> Match? {
        self.match(counter: counter, lookAhead: lookAhead) { constantTimeEquals($0.onlineBytes, signature) }
    }

    /// Returns the first counter, starting with the server's, under which an offline signature is valid.
    package func match(
        offline signature: String,
        counter: HashCounter,
        componentLength: Int = 8,
        lookAhead: Int = LookAhead.standard
    ) -> Match? {
        let signature = [UInt8](signature.utf8)
        return self.match(counter: counter, lookAhead: lookAhead) {
            constantTimeEquals([UInt8]($0.offline(componentLength: componentLength).utf8), signature)
        }
    }

    private func match(
        counter: HashCounter,
        lookAhead: Int,
        _ isValid: (RequestSignature) -> Bool
    ) -> Match? {
        var counter = counter
        for offset in 0..<lookAhead {
            let expected = RequestSignature(self.data, keys: self.keys, counter: counter, secret: self.secret)
            counter = counter.next()
            if isValid(expected) { return Match(offset: offset, nextCounter: counter) }
        }
        return nil
    }
}
