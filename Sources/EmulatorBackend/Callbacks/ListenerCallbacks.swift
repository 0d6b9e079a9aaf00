extension Backend {
    /// Adds what listeners collect, unless it is there: a callback for each kind, which tells everything.
    ///
    /// - Throws: When there is no room for more callbacks.
    package mutating func addListenerCallbacks() throws(Refusal) {
        let url = CallbackMessage.collectingURL
        let known = self.state.callbacks.values.filter {
            $0.url == url && $0.applicationID == self.defaultApplicationID
        }
        for kind in Callback.Kind.allCases where !known.contains(where: { $0.kind == kind }) {
            guard self.state.callbacks.count < self.capacity.callbacks else {
                throw .capacityExceeded("There is no room for more callbacks (\(self.capacity.callbacks))")
            }
            let callback = Callback(
                id: self.state.randomness.identifier(),
                applicationID: self.defaultApplicationID,
                name: "listeners",
                kind: kind,
                url: url,
                attributes: kind.attributes,
                maximumAttempts: 1
            )
            self.state.callbacks[callback.id] = callback
        }
    }
}
