import Coordination
import EmulatorBackend
import Foundation
import Synchronization

/// A space, with its own core and tasks.
struct Space: Sendable {
    fileprivate(set) var summary: Emulator.SpaceSummary
    let core: EmulatorCore
    fileprivate let service: Task<Void, Never>

    fileprivate func end() async {
        self.service.cancel()
        await self.service.value
    }
}

final class SpaceDirectory: Sendable {
    private struct State {
        var spaces: [String: Space] = [:]
        /// Oldest first.
        var order: [String] = []
        var randomness: SeededRandomness
        var isClosed = false
    }

    private let core: EmulatorCore
    private let state: Mutex<State>
    var configuration: Emulator.Configuration { self.core.configuration }

    /// - Parameter core: The server's core.
    init(of core: EmulatorCore) {
        self.core = core
        // A separate sequence from the server's own backend's, which spaces must not advance.
        self.state = Mutex(
            State(randomness: SeededRandomness(seed: core.configuration.seed.map { $0 ^ 0x7370_6163_6573 }))
        )
    }

    var newestFirst: [Space] {
        self.state.withLock { state in state.order.reversed().compactMap { state.spaces[$0] } }
    }

    subscript(id: String) -> Space? { self.state.withLock { $0.spaces[id] } }

    /// Returns an origin that copies another space or the server.
    ///
    /// - Parameter id: The identifier of a space, or ``server``.
    func copy(of id: String) throws(EmulatorError) -> Emulator.SpaceOrigin {
        if id == Self.server { return .init(.copy(self.core)) }
        guard let space = self[id] else { throw EmulatorError(.noSuch("space")) }
        return .init(.copy(space.core))
    }

    /// The name of the server in place of a space's identifier.
    static let server = "server"

    /// Makes a space, or nothing.
    ///
    /// - Parameters:
    ///   - seed: Fixes its randomness; a seeded server gives each space a seed anyway.
    ///   - beginning: The initial content; `nil` for the configuration's, or none.
    ///   - origin: The address of the server.
    func make(
        named name: String?,
        seed: UInt64?,
        from beginning: Emulator.SpaceOrigin?,
        at time: Date,
        below origin: String
    ) async throws(EmulatorError) -> Space {
        var beginning = beginning ?? self.configuration.spaceOrigin
        if case .server = beginning?.base { beginning = .init(.copy(self.core)) }
        if let name { try Emulator.SpaceSummary.check(name: name) }
        try self.check(beginning, seed: seed)
        try self.state.withLock { (state) throws(EmulatorError) in try self.requireRoom(state) }
        let (id, drawn) = self.state.withLock { ($0.randomness.identifier(), $0.randomness.next()) }
        let configuration = self.configuration.ofSpace(seed: seed ?? self.configuration.seed.map { _ in drawn })
        let core = try await EmulatorCore.ofSpace(configuration, from: beginning, self.core.clock)
        return try self.state.withLock { (state) throws(EmulatorError) in
            try self.requireRoom(state)
            let space = Space(
                summary: Emulator.SpaceSummary(id: id, name: name, created: time, origin: origin),
                core: core,
                service: Task {
                    await core.run()
                    core.events.finish()
                }
            )
            state.spaces[id] = space
            state.order.append(id)
            return space
        }
    }

    private func check(_ beginning: Emulator.SpaceOrigin?, seed: UInt64?) throws(EmulatorError) {
        guard let beginning else { return }
        if seed != nil, beginning.hasRandomness {
            let message = "'seed' is for a space that begins empty or from a scenario: a state goes on with its own"
            throw EmulatorError(.invalidConfiguration, message)
        }
        guard case .copy(let core) = beginning.base, core !== self.core else { return }
        guard self.newestFirst.contains(where: { $0.core === core }) else {
            throw EmulatorError(.notFound, "The space to copy is none of this server")
        }
    }

    private func requireRoom(_ state: State) throws(EmulatorError) {
        guard !state.isClosed else { throw EmulatorError(.refused, "The server has stopped") }
        let capacity = self.configuration.capacity.spaces
        guard state.order.count < capacity else {
            let message = "There is no room for more spaces (\(capacity)); remove those that are no longer used"
            throw EmulatorError(.capacityExceeded, message)
        }
    }

    /// Records the reason why a space's test failed; the first reason counts.
    func noteFailure(of id: String, _ reason: String) throws(EmulatorError) -> (space: Space, isFirst: Bool) {
        let noted = self.state.withLock { state -> (space: Space, isFirst: Bool)? in
            guard let former = state.spaces[id] else { return nil }
            var space = former
            space.summary.failure = former.summary.failure ?? reason
            state.spaces[id] = space
            return (space, former.summary.failure == nil)
        }
        guard let noted else { throw EmulatorError(.noSuch("space")) }
        return noted
    }

    /// Removes a space with all its content, unless failed ones are kept; returns when its tasks have ended.
    func remove(_ id: String) async throws(EmulatorError) {
        guard self[id] != nil else { throw EmulatorError(.noSuch("space")) }
        await self.remove { $0.summary.id == id && !self.keeps($0) }
    }

    /// Removes all spaces, unless failed ones are kept.
    func removeAll() async { await self.remove { !self.keeps($0) } }

    private func keeps(_ space: Space) -> Bool {
        self.configuration.keepsFailedSpaces && space.summary.failure != nil
    }

    private func remove(where isUnwanted: (Space) -> Bool) async {
        let removed = self.state.withLock { state in
            let removed = state.spaces.values.filter(isUnwanted)
            for space in removed { state.spaces[space.summary.id] = nil }
            state.order.removeAll { state.spaces[$0] == nil }
            return removed
        }
        for space in removed { await space.end() }
    }

    /// Removes all spaces, and accepts no new ones.
    func close() async {
        self.state.withLock { $0.isClosed = true }
        await self.remove { _ in true }
    }
}

extension Emulator.Configuration {
    /// The configuration of a space: the same rules and credentials, no external storage, and smaller limits.
    fileprivate func ofSpace(seed: UInt64?) -> Self {
        var configuration = self
        configuration.seed = seed
        configuration.initialState = nil
        configuration.dataFile = nil
        configuration.scenario = nil
        configuration.spaceOrigin = nil
        configuration.capacity = self.capacity.ofSpace
        return configuration
    }
}

extension EmulatorCapacity {
    /// The limits of a space: enough for its tests, and affordable a thousand times.
    fileprivate var ofSpace: Self {
        var capacity = self
        capacity.activations = min(self.activations, 1_000)
        capacity.operations = min(self.operations, 5_000)
        capacity.messages = min(self.messages, 5_000)
        capacity.tokens = min(self.tokens, 5_000)
        capacity.applications = min(self.applications, 100)
        capacity.storedBytes = min(self.storedBytes, 4 << 20)
        capacity.faultRules = min(self.faultRules, 100)
        capacity.eventStreams = min(self.eventStreams, 100)
        capacity.devices = min(self.devices, 100)
        return capacity
    }
}
