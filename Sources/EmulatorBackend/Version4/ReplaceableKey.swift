package import PowerAuthCrypto
package import PowerAuthProtocol

extension Version4 {
    /// The server's key of a factor that can be replaced: the password's or the biometric one.
    ///
    /// A new key waits beside the current one until one of them is used, so that it does no harm when the response that carried
    /// it is lost. The first one that is used stays.
    package struct ReplaceableKey: Sendable, Equatable {
        /// The key in use; `nil` while the factor is off.
        package private(set) var current: SecretBytes?
        /// The key that was agreed on and has not been used yet.
        package private(set) var pending: SecretBytes?

        package init(current: SecretBytes?, pending: SecretBytes? = nil) {
            self.current = current
            self.pending = current == nil ? nil : pending
        }

        /// Indicates whether codes can be made with the factor.
        package var isOn: Bool { self.current != nil }

        /// Sets a key that was agreed on: as the current one when there is none, else as the pending one.
        package mutating func replace(with key: SecretBytes) {
            if self.current == nil { self.current = key } else { self.pending = key }
        }

        /// Makes the pending key the current one, since it was used.
        package mutating func settleOnPending() {
            guard let pending = self.pending else { return }
            self.current = pending
            self.pending = nil
        }

        /// Drops the pending key, since the current one was used.
        package mutating func settleOnCurrent() { self.pending = nil }

        /// Turns the factor off.
        package mutating func remove() {
            self.current = nil
            self.pending = nil
        }
    }

    /// The keys with which a server verifies the codes of one activation.
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
