import APIDescriptions
import EmulatorMessages
package import Foundation
import MobileTokenCloud
import PowerAuthProtocol

// MARK: - Administration

/// An administrator's action, which clients cannot perform.
package enum AdministrativeChange: Sendable {
    /// Blocks until a time in milliseconds since 1970, or until it is unblocked.
    case block(activationID: String, until: Milliseconds? = nil)
    case unblock(activationID: String)
    case remove(activationID: String)
    /// Advances the server's counter by steps of the hash chain, which has no way back.
    case advanceCounter(activationID: String, by: UInt64)
    /// Expires only this operation, now.
    case expire(operationID: String)
}

extension Backend {
    package mutating func administer(
        _ change: AdministrativeChange,
        at now: Date
    ) throws(Refusal) -> [BackendEvent] {
        var context = RequestContext(ReceivedRequest(method: "", path: ""), at: now.milliseconds)
        switch change {
        case .block(let id, let expiration):
            guard expiration.map({ $0 > context.now }) ?? true else {
                throw .invalidState("The block ends before it begins")
            }
            try self.change(id, &context) { (activation) throws(Refusal) in
                try activation.block(reason: "NOT_SPECIFIED", until: expiration)
            }
        case .unblock(let id):
            try self.change(id, &context) { (activation) throws(Refusal) in try activation.unblock() }
        case .advanceCounter(let id, let steps):
            // A client is lost after 20; many more would only waste time.
            guard let steps = Int(exactly: steps), steps <= 100_000 else {
                throw .invalidState("The counter moves by 100 000 steps at most")
            }
            try self.change(id, &context) { (activation) throws(Refusal) in
                try activation.advanceCounter(by: steps)
            }
        case .remove(let id):
            guard try self.state.activations[id].found("activation").status != .removed else {
                throw .invalidState("The activation is already removed")
            }
            self.remove(id, &context)
        case .expire(let id):
            let operation = try self.state.operations[id].found("operation")
            guard operation.status == .pending else {
                throw .invalidState("The operation is \(operation.status.rawValue)")
            }
            self.state.operations.update(id) { $0.expire(early: context.now) }
            self.state.operations[id].map { context.report($0) }
        }
        return context.events
    }

    private mutating func change(
        _ id: String,
        _ context: inout RequestContext,
        _ change: (inout ServerActivation) throws(Refusal) -> Void
    ) throws(Refusal) {
        var activation = try self.state.activations[id].found("activation")
        try change(&activation)
        self.state.activations[id] = activation
        if let deadline = activation.deadline { self.watch(deadline) }
        context.report(activation)
    }
}

extension Refusal {
    /// A change that the object's state forbids.
    static func invalidState(_ message: String, because reason: String? = nil) -> Self {
        Self(409, "INVALID_STATE", message, because: reason)
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

        init(state: BackendState) { self.state = state }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            guard try container.decode(String.self, forKey: .format) == Self.format else {
                throw Refusal.invalidDocument("its 'format' is not \(Self.format)")
            }
            let version = try container.decode(Int.self, forKey: .version)
            guard version == Self.version else {
                throw Refusal.invalidDocument("its 'version' is \(version), not \(Self.version)")
            }
            self.state = try container.decode(BackendState.self, forKey: .state)
        }
    }

    /// Returns the whole state as a JSON document, including the application's keys.
    package func exported() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        return Array(try encoder.encode(Document(state: self.state)))
    }

    /// Creates a backend with the state of an exported document.
    package init(importing document: [UInt8], configuration: BackendConfiguration) throws(Refusal) {
        do {
            let size = document.count
            var document = try JSONDecoder().decode(Document.self, from: Data(document))
            document.state.storedBytes = size
            _ = document.state.takeChanges()  // a state that is taken over is written whole
            guard document.state.applications[document.state.defaultApplicationID] != nil else {
                throw Refusal.invalidDocument("it lacks the application that 'state.defaultApplicationID' names")
            }
            try self.init(state: document.state, configuration)
        } catch let refusal as Refusal {
            throw refusal
        } catch let error as DocumentMistake {
            throw .invalidRequest(error.message)
        } catch Version4.SharedSecretError.unavailable(let error) {
            throw .invalidRequest("The document has activations of another suite: \(error)")
        } catch DecodingError.keyNotFound(let key, let context) {
            throw .invalidDocument("'\((context.codingPath + [key]).shown)' is missing")
        } catch DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context),
            DecodingError.dataCorrupted(let context)
        {
            let place = context.codingPath.shown
            throw .invalidDocument(place.isEmpty ? "it is no JSON object" : "'\(place)' is of another form")
        } catch {
            throw Refusal.invalidDocument("it cannot be taken over")
        }
    }
}

extension [any CodingKey] {
    /// The path to a member, such as `state.applications`.
    fileprivate var shown: String { self.map(\.stringValue).joined(separator: ".").beginning }
}

extension Refusal {
    static func invalidDocument(_ reason: String) -> Self {
        .invalidRequest("Not a document of this server: \(reason)")
    }
}
