/// The possible sealing keys of a store.
package struct SealingKeys: Sendable {
    /// The key for sealing.
    package let current: any SealingKeyProvider
    /// Former keys, used only for decryption.
    package let earlier: [any SealingKeyProvider]

    package init(current: any SealingKeyProvider, earlier: [any SealingKeyProvider] = []) {
        self.current = current
        self.earlier = earlier
    }

    func fetch(isForNewStore: Bool) async throws -> Fetched {
        var earlier: [Sealing] = []
        for provider in self.earlier {
            earlier.append(try Sealing(key: try await provider.sealingKey(isForNewStore: false)))
        }
        let current = try Sealing(key: try await self.current.sealingKey(isForNewStore: isForNewStore))
        return Fetched(current: current, earlier: earlier)
    }

    struct Fetched {
        let current: Sealing
        let earlier: [Sealing]

        /// Returns the keys that the store knows, by number; `nil` if it does not know the current one.
        func match(_ known: [StoreFacts.Key]) -> JournalKeys? {
            var sealings: [Int64: Sealing] = [:]
            var current: Int64?
            for key in known {
                if self.current.matches(keyCheck: key.check) {
                    current = max(key.number, current ?? key.number)
                    sealings[key.number] = self.current
                } else {
                    sealings[key.number] = self.earlier.first { $0.matches(keyCheck: key.check) }
                }
            }
            return current.map { JournalKeys(current: $0, currentSealing: self.current, sealings: sealings) }
        }

        /// Returns whether the current key may be added to the store: it is new, or a former key proves that these keys belong to
        /// it.
        func mayJoin(_ known: [StoreFacts.Key]) -> Bool {
            known.isEmpty || known.contains { key in self.earlier.contains { $0.matches(keyCheck: key.check) } }
        }
    }
}

/// The keys of an open store, by number.
package struct JournalKeys: Sendable {
    /// The key number for new rows.
    package let current: Int64
    package let currentSealing: Sealing
    fileprivate let sealings: [Int64: Sealing]

    /// Returns the key with a number; `nil` if the providers have none.
    subscript(number: Int64) -> Sealing? { self.sealings[number] }
}
