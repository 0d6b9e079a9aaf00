import EmulatorMessages

extension Backend {
    /// The kinds of objects that a successful request may add to the state.
    enum Addition {
        case nothing
        case registration, operation, message, application, token, callback, user
        /// Further content in existing objects.
        case contents
    }

    /// Throws `CAPACITY_EXCEEDED` if the state has no room for a request's additions.
    ///
    /// - Returns: The number of bytes that the request adds to ``BackendState/storedBytes`` if it succeeds.
    func reserveCapacity(for addition: Addition, _ context: RequestContext) throws(Refusal) -> Int {
        let sent = context.request.body.count + context.request.rawQuery.utf8.count
        var added = sent + Self.overhead
        switch addition {
        case .nothing: return 0
        case .registration: try self.requireRoomForActivation()
        case .operation:
            try Self.require(self.state.operations.count, lessThan: self.capacity.operations, "operations")
        case .message: try Self.require(self.state.inbox.count, lessThan: self.capacity.messages, "messages")
        case .application:
            try Self.require(self.state.applications.count, lessThan: self.capacity.applications, "applications")
        case .callback: try Self.require(self.state.callbacks.count, lessThan: self.capacity.callbacks, "callbacks")
        // The limit of applications, because each has a backend or two.
        case .user: try Self.require(self.state.cloudUsers.count, lessThan: self.capacity.applications, "users")
        case .token:
            try Self.require(self.state.tokens.count, lessThan: self.capacity.tokens, "tokens")
            added = 0  // all alike, and removed again
        case .contents: added = sent  // becomes part of what was counted when it was made
        }
        try Self.require(self.state.storedBytes + added - 1, lessThan: self.capacity.storedBytes, "bytes")
        return added
    }

    /// Throws `CAPACITY_EXCEEDED` if there is no room for another activation, registered or not.
    func requireRoomForActivation() throws(Refusal) {
        try Self.require(self.state.activations.count, lessThan: self.capacity.activations, "activations")
    }

    /// Throws if a registration may not have these flags: there are too many, or one is too long.
    func requireRoom(forFlags flags: [String]) throws(Refusal) {
        try Self.require(flags.count - 1, lessThan: self.capacity.flagsPerRegistration, "flags of the registration")
        guard flags.allSatisfy({ $0.utf8.count <= 255 }) else {
            throw .invalidRequest("A flag is longer than 255 bytes")
        }
    }

    private static func require(_ count: Int, lessThan capacity: Int, _ what: String) throws(Refusal) {
        guard count >= capacity else { return }
        throw .capacityExceeded("There is no room for more \(what) (\(capacity)); a reset of the server makes some")
    }

    /// The approximate size of an identifier, times and other metadata.
    private static var overhead: Int { 1024 }
}
