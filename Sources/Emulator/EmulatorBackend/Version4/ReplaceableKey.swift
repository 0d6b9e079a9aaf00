package import PowerAuthCrypto
package import PowerAuthProtocol

extension Version4 {
    /// The server's key of a replaceable factor: the password's or the biometric one.
    ///
    /// A new key waits beside the current one until one of them is used, so a lost response does no harm. The first one used
    /// stays.
    package struct ReplaceableKey: Sendable, Equatable {
        /// The current key; `nil` while the factor is off.
        package private(set) var current: SecretBytes?
        /// The agreed key that has not been used yet.
        package private(set) var pending: SecretBytes?

        package init(current: SecretBytes?, pending: SecretBytes? = nil) {
            self.current = current
            self.pending = current == nil ? nil : pending
        }

        package var isOn: Bool { self.current != nil }

        /// Sets an agreed key: as the current one if there is none, otherwise as the pending one.
        package mutating func replace(with key: SecretBytes) {
            if self.current == nil { self.current = key } else { self.pending = key }
        }

        /// Makes the pending key the current one after its use.
        package mutating func settleOnPending() {
            guard let pending = self.pending else { return }
            self.current = pending
            self.pending = nil
        }

        /// Drops the pending key after the current one's use.
        package mutating func settleOnCurrent() { self.pending = nil }

        /// Turns the factor off.
        package mutating func remove() {
            self.current = nil
            self.pending = nil
        }
    }

    /// The keys for verifying one activation's codes.
    package struct ServerFactorKeys: Sendable, Equatable {
        package let possession: SecretBytes
        package var knowledge: ReplaceableKey
        package var biometry: ReplaceableKey

        package init(possession: SecretBytes, knowledge: ReplaceableKey, biometry: ReplaceableKey) {
            self.possession = possession
            self.knowledge = knowledge
            self.biometry = biometry
        }
    }
}
