internal import Foundation
internal import PowerAuthCrypto
internal import PowerAuthProtocol

// MARK: - What an administrator may do

extension Backend {
    mutating func administer(
        _ change: AdministrativeChange,
        at now: Date
    ) throws(EmulatorError) -> [BackendEvent] {
        var context = RequestContext(ReceivedRequest(method: "", path: ""), at: now.milliseconds)
        do {
            switch change {
            case .block(let id):
                try self.change(id, &context) { (activation) throws(ActivationStateError) in
                    try activation.block(reason: "NOT_SPECIFIED")
                }
            case .unblock(let id):
                try self.change(id, &context) { (activation) throws(ActivationStateError) in try activation.unblock() }
            case .advanceCounter(let id, let steps):
                // A client is lost after 20; more would only keep the server busy.
                guard let steps = Int(exactly: steps), steps <= 100_000 else {
                    throw EmulatorError(.conflict, "The counter moves by 100 000 steps at most")
                }
                try self.change(id, &context) { (activation) throws(ActivationStateError) in
                    try activation.advanceCounter(by: steps)
                }
            case .remove(let id):
                guard let activation = self.state.activations[id] else { throw EmulatorError.unknownActivation }
                guard activation.status != .removed else {
                    throw EmulatorError(.conflict, "The activation is already removed")
                }
                self.remove(id, &context)
            }
        } catch let error as ActivationStateError {
            throw EmulatorError(.conflict, "The change is not possible: \(error.reason)")
        } catch let error as EmulatorError {
            throw error
        } catch {
            throw EmulatorError(.conflict, "The change is not possible")
        }
        return context.events
    }

    private mutating func change(
        _ id: String,
        _ context: inout RequestContext,
        _ change: (inout ServerActivation) throws(ActivationStateError) -> Void
    ) throws {
        guard var activation = self.state.activations[id] else { throw EmulatorError.unknownActivation }
        try change(&activation)
        self.state.activations[id] = activation
        context.report(activation)
    }
}

extension EmulatorError {
    fileprivate static let unknownActivation = Self(.notFound, "No such activation")
}

// MARK: - The whole state

extension Backend {
    private struct Document: Codable {
        static let format = "mobile-token-emulator"
        static let version = 1

        var format = Self.format
        var version = Self.version
        var state: BackendState
    }

    /// The whole state, the application's keys included, as one JSON document.
    func exported() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        return Array(try encoder.encode(Document(state: self.state)))
    }

    /// A backend with the state of an exported document.
    init(importing document: [UInt8], configuration: Emulator.Configuration) throws(EmulatorError) {
        do {
            let size = document.count
            var document = try JSONDecoder().decode(Document.self, from: Data(document))
            document.state.storedBytes = size
            _ = document.state.takeChanges()  // a state that is taken over is written whole
            guard document.format == Document.format, document.version == Document.version,
                document.state.applications[document.state.defaultApplicationID] != nil
            else { throw EmulatorError.invalidDocument }
            try self.init(state: document.state, configuration)
        } catch let error as EmulatorError {
            throw error
        } catch let error as TemplateError {
            throw EmulatorError(.invalidDocument, error.message)
        } catch {
            throw EmulatorError.invalidDocument
        }
    }
}

extension EmulatorError {
    static let invalidDocument = Self(.invalidDocument, "Not a document of this server")
}
