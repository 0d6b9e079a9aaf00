import EmulatorBackend
import PowerAuthProtocol

// The initial state of a server.
extension Backend {
    init(document: [UInt8], _ configuration: Emulator.Configuration) throws(EmulatorError) {
        do { try self.init(importing: document, configuration: configuration.backend) } catch {
            throw EmulatorError(error)
        }
    }

    init(_ records: [StateRecord], _ configuration: Emulator.Configuration) throws(EmulatorError) {
        let state: BackendState
        do {
            state = try BackendState(records: records)
        } catch Version4.SharedSecretError.unavailable(let error) {
            throw EmulatorError(.storage, "The data file has activations of another suite: \(error)")
        } catch {
            throw EmulatorError(.storage, "The data file holds what this server did not write")
        }
        do { try self.init(state: state, configuration.backend) } catch {
            throw EmulatorError(.invalidConfiguration, "\(error)")
        }
    }

    /// Copies another backend's state, templates and rules.
    init(copying other: Backend, _ configuration: Emulator.Configuration) throws(EmulatorError) {
        do { try self.init(state: other.state, configuration.backend) } catch {
            throw EmulatorError(.invalidConfiguration, "\(error)")
        }
        self.adoptRules(of: other)
    }

    init(empty configuration: Emulator.Configuration) throws(EmulatorError) {
        do {
            try self.init(configuration: configuration.backend, randomness: SeededRandomness(seed: configuration.seed))
        } catch {
            throw EmulatorError(.invalidConfiguration, "\(error)")
        }
    }
}
