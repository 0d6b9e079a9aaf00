extension Backend {
    /// Refuses what the state has no room for.
    ///
    /// - Returns: What the request adds to ``BackendState/storedBytes`` when it is granted.
    func room(for endpoint: Endpoint, _ call: Call) throws(BackendRefusal) -> Int {
        let sent = call.request.body.count + call.request.rawQuery.utf8.count
        let added: Int
        switch endpoint {
        case .createRegistration:
            try Self.require(self.state.activations.count, lessThan: self.capacity.activations, "activations")
            added = sent + Self.overhead
        case .createOperation:
            try Self.require(self.state.operations.count, lessThan: self.capacity.operations, "operations")
            added = sent + Self.overhead
        case .createMessage:
            try Self.require(self.state.inbox.count, lessThan: self.capacity.messages, "messages")
            added = sent + Self.overhead
        case .createApplication:
            try Self.require(self.state.applications.count, lessThan: self.capacity.applications, "applications")
            added = sent + Self.overhead
        case .createToken:
            try Self.require(self.state.tokens.count, lessThan: self.capacity.tokens, "tokens")
            added = 0  // all alike, and removed again
        case .createActivation, .commitRegistration, .authorizeOperation, .rejectOperation, .cancelOperation:
            added = sent  // becomes part of what was counted when it was made
        default:
            return 0
        }
        try Self.require(self.state.storedBytes + added - 1, lessThan: self.capacity.storedBytes, "bytes")
        return added
    }

    /// Whether a device may activate that nobody registered.
    func requireRoomForActivation() throws(BackendRefusal) {
        try Self.require(self.state.activations.count, lessThan: self.capacity.activations, "activations")
    }

    func requireRoom(forFlags flags: [String]) throws(BackendRefusal) {
        try Self.require(flags.count - 1, lessThan: self.capacity.flagsPerRegistration, "flags of the registration")
        guard flags.allSatisfy({ $0.utf8.count <= 255 }) else {
            throw .invalidRequest("A flag is longer than 255 bytes")
        }
    }

    private static func require(_ count: Int, lessThan capacity: Int, _ what: String) throws(BackendRefusal) {
        guard count >= capacity else { return }
        throw .capacityExceeded("There is no room for more \(what) (\(capacity)); a reset of the server makes some")
    }

    /// About what an identifier, times and the like take.
    private static var overhead: Int { 1024 }
}
