import EmulatorBackend
public import Foundation

extension Emulator {
    /// The initial content of a space instead of an empty one. A reset of the space returns to it.
    public struct SpaceOrigin: Sendable {
        enum Base: Sendable {
            case scenario(Result<Scenario, Refusal>)
            case state([UInt8])
            /// The state of a running core.
            case copy(EmulatorCore)
            /// The state of the space's server.
            case server
        }

        let base: Base

        init(_ base: Base) { self.base = base }

        /// The content of a scenario, with new identifiers and keys, as by ``Emulator/play(scenario:)``.
        public static func scenario(_ document: Data) -> Self { Self(.scenario(Scenario.reading(document))) }

        /// An exported state, with its keys.
        public static func state(_ document: Data) -> Self { Self(.state(Array(document))) }

        /// A copy of a space of the same server, or of the server itself, without journal and pushes.
        public static func copy(of original: Emulator) -> Self { Self(.copy(original.core)) }

        /// A copy of the space's server.
        package static var server: Self { Self(.server) }

        /// Indicates whether it includes the state of its random generator.
        var hasRandomness: Bool {
            if case .scenario = self.base { false } else { true }
        }
    }
}

extension EmulatorCore {
    /// Creates the core of a space with its initial content, or fails as a whole.
    static func ofSpace(
        _ configuration: Emulator.Configuration,
        from origin: Emulator.SpaceOrigin?,
        _ clock: any Clock<Duration>
    ) async throws(EmulatorError) -> EmulatorCore {
        var configuration = configuration
        var copied: WholeState?
        switch origin?.base {
        case .state(let document): configuration.initialState = Data(document)
        case .copy(let original): copied = try await original.wholeState()
        case .server, .scenario, nil: break
        }
        let core = try EmulatorCore(configuration: configuration, copying: copied, retention: .ofSpace, clock: clock)
        if case .scenario(let scenario) = origin?.base { try await core.begin(with: scenario) }
        return core
    }

    /// Plays a scenario that resets return to.
    ///
    /// A separate function that converts both errors: otherwise the optimizer of Swift 6.3.1 crashes on `ofSpace`.
    func begin(with scenario: Result<Scenario, Refusal>) async throws(EmulatorError) {
        self.isBeginning = true
        defer { self.isBeginning = false }
        do {
            self.played = try await self.play(scenario.get())
            self.initial = try await self.wholeState()
        } catch {
            throw EmulatorError(any: error)
        }
    }
}
