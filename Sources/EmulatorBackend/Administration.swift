import CloudCalls
import EmulatorMessages
package import Foundation
import PowerAuthCrypto
import PowerAuthProtocol

// MARK: - What an administrator may do

extension Backend {
    package mutating func administer(
        _ change: AdministrativeChange,
        at now: Date
    ) throws(Refusal) -> [BackendEvent] {
        var context = RequestContext(ReceivedRequest(method: "", path: ""), at: now.milliseconds)
        do {
            switch change {
            case .block(let id, let expiration):
                guard expiration.map({ $0 > context.now }) ?? true else {
                    throw Refusal.conflict("The block ends before it begins")
                }
                try self.change(id, &context) { (activation) throws(ActivationStateError) in
                    try activation.block(reason: "NOT_SPECIFIED", until: expiration)
                }
            case .unblock(let id):
                try self.change(id, &context) { (activation) throws(ActivationStateError) in try activation.unblock() }
            case .advanceCounter(let id, let steps):
                // A client is lost after 20; more would only keep the server busy.
                guard let steps = Int(exactly: steps), steps <= 100_000 else {
                    throw Refusal.conflict("The counter moves by 100 000 steps at most")
                }
                try self.change(id, &context) { (activation) throws(ActivationStateError) in
                    try activation.advanceCounter(by: steps)
                }
            case .remove(let id):
                guard let activation = self.state.activations[id] else { throw Refusal.unknownActivation }
                guard activation.status != .removed else {
                    throw Refusal.conflict("The activation is already removed")
                }
                self.remove(id, &context)
            }
        } catch let error as ActivationStateError {
            throw Refusal.conflict("The change is not possible: \(error.reason)")
        } catch let refusal as Refusal {
            throw refusal
        } catch {
            throw Refusal.conflict("The change is not possible")
        }
        return context.events
    }

    private mutating func change(
        _ id: String,
        _ context: inout RequestContext,
        _ change: (inout ServerActivation) throws(ActivationStateError) -> Void
    ) throws {
        guard var activation = self.state.activations[id] else { throw Refusal.unknownActivation }
        try change(&activation)
        self.state.activations[id] = activation
        if let deadline = activation.deadline { self.watch(deadline) }
        context.report(activation)
    }
}

extension Refusal {
    fileprivate static let unknownActivation = Self(404, "ERROR_NOT_FOUND", "No such activation")

    fileprivate static func conflict(_ message: String) -> Self {
        Self(409, "INVALID_STATE", message)
    }
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
    package func exported() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        return Array(try encoder.encode(Document(state: self.state)))
    }

    /// A backend with the state of an exported document.
    package init(importing document: [UInt8], configuration: BackendConfiguration) throws(Refusal) {
        do {
            let size = document.count
            var document = try JSONDecoder().decode(Document.self, from: Data(document))
            document.state.storedBytes = size
            _ = document.state.takeChanges()  // a state that is taken over is written whole
            guard document.format == Document.format, document.version == Document.version,
                document.state.applications[document.state.defaultApplicationID] != nil
            else { throw Refusal.invalidDocument }
            try self.init(state: document.state, configuration)
        } catch let refusal as Refusal {
            throw refusal
        } catch let error as TemplateError {
            throw .invalidRequest(error.message)
        } catch Version4.SharedSecretError.unavailable(let error) {
            throw .invalidRequest("The document has activations of another suite: \(error)")
        } catch {
            throw Refusal.invalidDocument
        }
    }
}

extension Refusal {
    static let invalidDocument = Self.invalidRequest("Not a document of this server")
}
