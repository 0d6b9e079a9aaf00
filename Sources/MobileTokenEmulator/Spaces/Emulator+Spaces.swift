extension Emulator {
    /// Makes a space in this server: a server of its own for all that uses it, below its own address.
    ///
    /// It has its own applications, activations, operations, clock, faults, journal, callbacks and pushes: nothing in it can
    /// be seen or changed from the server or from another space. The credentials and the rules are the server's. All of
    /// it is in memory, also when the server has a data file; ``stop()`` removes it, and so does the end of the server.
    ///
    /// ```swift
    /// let space = try await emulator.makeSpace(named: "a test", seed: 7)
    /// await space.clock.freeze()
    /// print(space.baseURL)  // http://127.0.0.1:49152/spaces/…/enrollment-server
    /// await space.stop()
    /// ```
    ///
    /// - Parameters:
    ///   - name: The name in lists; 255 bytes at most.
    ///   - seed: Fixes its identifiers, keys and nonces. A state and a copy go on with their own.
    ///   - origin: The content that it begins with; empty by default. When that cannot be made, there is no space.
    /// - Returns: The space, with all the members of a server. It keeps the server running.
    /// - Throws: ``EmulatorError`` of code `capacityExceeded` when there are too many, `refused` when this is a space, or what
    ///   ``importState(_:)`` and ``play(scenario:)`` throw.
    public func makeSpace(
        named name: String? = nil,
        seed: UInt64? = nil,
        from origin: SpaceOrigin? = nil
    ) async throws(EmulatorError) -> Emulator {
        guard let spaces = self.spaceDirectory else {
            throw EmulatorError(.refused, "A space has no spaces of its own; ask the server that it is in")
        }
        let now = await self.clock.now
        let space = try await spaces.make(named: name, seed: seed, from: origin, at: now, below: self.cloudURL)
        return Emulator(space, of: self)
    }

    /// Returns a space of this server, also one that was made over HTTP; `nil` when there is none.
    public func space(_ id: SpaceSummary.ID) -> Emulator? {
        self.spaceDirectory?[id].map { Emulator($0, of: self) }
    }

    /// The spaces of this server, newest first; a space has none.
    public func spaces() -> [SpaceSummary] { self.spaceDirectory?.newestFirst.map(\.summary) ?? [] }
}
