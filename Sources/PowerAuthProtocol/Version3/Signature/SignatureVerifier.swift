package import PowerAuthCrypto

/// The server's side of a request signature: tries the counters that the client may have reached.
package struct SignatureVerifier: Sendable {
    /// How many counters a server tries, itself included, unless told otherwise.
    package static let defaultLookAhead = 20

    /// A counter under which a signature is right.
    package struct Match: Sendable, Equatable {
        /// How far the client's counter was ahead of the server's.
        package let offset: Int
        /// What the server stores as its counter: the one after the match.
        package let nextCounter: HashCounter

        package init(offset: Int, nextCounter: HashCounter) {
            self.offset = offset
            self.nextCounter = nextCounter
        }
    }

    private let data: SignatureData
    private let keys: [SecretBytes]
    private let secret: SigningSecret

    /// Prepares to verify signatures over data with the keys of the declared factors, in their order.
    package init(_ data: SignatureData, keys: [SecretBytes], secret: SigningSecret) {
        self.data = data
        self.keys = keys
        self.secret = secret
    }

    /// Finds the first counter, from the server's on, under which an online signature is right; `nil` when it is wrong.
    package func match(
        online signature: [UInt8],
        counter: HashCounter,
        lookAhead: Int = Self.defaultLookAhead
    ) -> Match? {
        self.match(counter: counter, lookAhead: lookAhead) { constantTimeEquals($0.onlineBytes, signature) }
    }

    /// Finds the first counter, from the server's on, under which an offline signature is right; `nil` when it is wrong.
    package func match(
        offline signature: String,
        counter: HashCounter,
        componentLength: Int = 8,
        lookAhead: Int = Self.defaultLookAhead
    ) -> Match? {
        let signature = [UInt8](signature.utf8)
        return self.match(counter: counter, lookAhead: lookAhead) {
            constantTimeEquals([UInt8]($0.offline(componentLength: componentLength).utf8), signature)
        }
    }

    private func match(
        counter: HashCounter,
        lookAhead: Int,
        _ isRight: (RequestSignature) -> Bool
    ) -> Match? {
        var counter = counter
        for offset in 0..<lookAhead {
            let expected = RequestSignature(self.data, keys: self.keys, counter: counter, secret: self.secret)
            counter = counter.next()
            if isRight(expected) { return Match(offset: offset, nextCounter: counter) }
        }
        return nil
    }
}
