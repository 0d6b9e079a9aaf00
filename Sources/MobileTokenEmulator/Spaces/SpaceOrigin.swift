import EmulatorBackend
public import Foundation

extension Emulator {
    /// The beginning of a space, in the place of an empty one. A reset of the space goes back to it.
    public struct SpaceOrigin: Sendable {
        enum Base: Sendable {
            case scenario(Result<Scenario, Refusal>)
            case state([UInt8])
            /// The state of a core that is running.
            case copy(EmulatorCore)
            /// The state of the server that the space is in.
            case server
        }

        let base: Base

        init(_ base: Base) { self.base = base }

        /// The content of a scenario, made as by ``Emulator/play(scenario:)``: with identifiers and keys of its own.
        public static func scenario(_ document: Data) -> Self { Self(.scenario(Scenario.reading(document))) }

        /// An exported state, with its keys.
        public static func state(_ document: Data) -> Self { Self(.state(Array(document))) }

        /// All that a space of the same server, or the server itself, holds at that moment: what a snapshot would hold of it.
        public static func copy(of original: Emulator) -> Self { Self(.copy(original.core)) }

        /// All that the server holds that the space is in.
        package static var server: Self { Self(.server) }

        /// Indicates whether it brings the source of its randomness along.
        var hasRandomness: Bool {
            if case .scenario = self.base { false } else { true }
        }
    }
}

extension EmulatorCore {
    /// Makes the core of a space, with what it begins with, or nothing at all.
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

    /// Plays a scenario that a reset goes back to.
    ///
    /// A function of its own, with both errors turned into one here: the optimizer of Swift 6.3.1 crashes on `ofSpace` otherwise.
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
