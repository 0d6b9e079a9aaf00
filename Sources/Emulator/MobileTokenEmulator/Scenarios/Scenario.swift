import APIDescriptions
import Basics
import EmulatorBackend
import EmulatorMessages
import ExactJSON
import Foundation
import MobileTokenCloud

/// A document with the desired content of a server: time, templates, callbacks, registrations, devices, operations, messages and
/// faults, each in the form of its own request. It is applied as a whole or not at all.
struct Scenario: Sendable {
    private let source: SourceDocument
    /// The request member that holds it; `nil` for a separate document, whose errors are located by line.
    private var member: String?

    /// - Throws: A refusal that names the first error with its line.
    init(parsing bytes: [UInt8]) throws(Refusal) {
        do { self.source = try SourceDocument(parsing: bytes, as: .scenario) } catch {
            throw .invalidRequest("\(error)")
        }
    }

    static func reading(_ document: Data) -> Result<Self, Refusal> {
        Result { () throws(Refusal) in try Self(parsing: Array(document)) }
    }

    /// - Parameters:
    ///   - value: A scenario within a request.
    ///   - member: The member of the request that holds it.
    init(_ value: JSONValue, in member: String) throws(Refusal) {
        try self.init(parsing: value.serialized())
        self.member = member
    }

    /// Applies the scenario.
    ///
    /// - Parameter clock: The clock of the devices.
    /// - Returns: The created objects, as in the cloud API.
    /// - Throws: A refusal that names the impossible step with its line. The trial is then incomplete, and must be dropped.
    func apply(
        to trial: Trial,
        _ configuration: Emulator.Configuration,
        _ clock: any Clock<Duration>
    ) async throws(Refusal) -> JSONValue {
        if let (change, place) = try self.value("clock", as: ClockChange.self) {
            try trial.change { (content) throws(Refusal) in
                change.apply(to: &content.state.time)
                guard Date.shownByClocks.contains(content.state.time.now()) else {
                    throw self.refusal(change.impossible, at: place)
                }
            }
        }
        var made: JSONObject = [:]
        made["templates"] = .array(try self.addTemplates(to: trial))
        for (name, path) in Self.requests {
            var responses: [JSONValue] = []
            for (body, place) in self.elements(name) {
                let response =
                    if let path {
                        try self.send(body, to: path, trial, at: place)
                    } else {
                        try await self.makeDevice(body, trial, clock, at: place)
                    }
                responses.append(response)
            }
            made[name] = .array(responses)
        }
        try trial.change { (content) throws(Refusal) in try self.addFaults(to: &content.state, configuration) }
        return .object(made)
    }

    /// - Returns: The names.
    private func addTemplates(to trial: Trial) throws(Refusal) -> [JSONValue] {
        var names: [JSONValue] = []
        for (document, place) in self.elements("templates") {
            let template: OperationTemplate
            do { template = try OperationTemplate(document) } catch {
                throw self.refusal(.invalidRequest(error.message), at: place + error.place)
            }
            do {
                try trial.change { (content) throws(Refusal) in try content.state.backend.insert(template) }
            } catch {
                throw self.refusal(error, at: place)
            }
            names.append(.string(template.name))
        }
        return names
    }

    /// The cloud API requests in this order, and the devices, which take several requests.
    private static let requests: [(name: String, path: String?)] = [
        ("callbacks", "/v2/callbacks"), ("registrations", "/v2/registrations"), ("devices", nil),
        ("operations", "/v2/operations"), ("messages", "/v2/inbox/messages"),
    ]

    /// Sends a request to the cloud API.
    func send(
        _ body: JSONValue,
        to path: String,
        _ trial: Trial,
        at place: [Int]
    ) throws(Refusal) -> JSONValue {
        let request = ReceivedRequest(
            method: "POST",
            path: path,
            headers: [("Content-Type", "application/json")],
            body: body.serialized()
        )
        let reply = trial.change { content in
            let reply = content.state.backend.reply(to: request, from: .process, at: content.state.time.now())
            if reply.status < 300 { content.events += reply.events }
            return reply
        }
        let response = (try? JSONValue(parsing: reply.body)) ?? .null
        guard reply.status < 300 else {
            let error = response["responseObject"]
            let message = error?["message"]?.string ?? "HTTP \(reply.status)"
            throw self.refusal(Refusal(reply.status, error?["code"]?.string ?? "INVALID_REQUEST", message), at: place)
        }
        return response
    }

    private func addFaults(
        to state: inout EmulatorCore.MutableState,
        _ configuration: Emulator.Configuration
    ) throws(Refusal) {
        for (value, place) in self.elements("faults") {
            guard state.faults.rules.count < configuration.capacity.faultRules else {
                throw self.refusal(configuration.capacity.tooManyFaultRules, at: place)
            }
            state.faults.append(try self.read(value, as: FaultRule.self, at: place))
        }
    }

    // MARK: Reading

    private func position(of name: String) -> Int? { self.source.value.object?.keys.firstIndex { $0.isExactly(name) } }

    private func elements(_ name: String) -> [(value: JSONValue, place: [Int])] {
        guard let position = self.position(of: name) else { return [] }
        return (self.source.value[name]?.array ?? []).enumerated().map { ($0.element, [position, $0.offset]) }
    }

    private func value<Value: Described>(
        _ name: String,
        as type: Value.Type
    ) throws(Refusal) -> (value: Value, place: [Int])? {
        guard let position = self.position(of: name), let value = self.source.value[name], !value.isNull else {
            return nil
        }
        return (try self.read(value, as: type, at: [position]), [position])
    }

    func read<Value: Described>(
        _ value: JSONValue,
        as type: Value.Type,
        at place: [Int]
    ) throws(Refusal) -> Value {
        do { return try Value(json: value) } catch {
            let member = error.member.isEmpty ? "" : ".\(error.member)"
            let refusal = Refusal.invalidRequest("'\(self.way(to: place))\(member)' \(error.hint)")
            throw self.naming(place + error.place, in: refusal)
        }
    }

    /// Adds the location to a refusal.
    func refusal(_ refusal: Refusal, at place: [Int]) -> Refusal {
        let message = "'\(self.way(to: place))': \(refusal.message)"
        return self.naming(place, in: Refusal(refusal.status, refusal.code, message))
    }

    /// Adds the line in a separate document. A generated document has a single line, so the path is needed too.
    private func naming(_ place: [Int], in refusal: Refusal) -> Refusal {
        guard self.member == nil else { return refusal }
        let message = self.source.mistake(refusal.message, at: place).description
        return Refusal(refusal.status, refusal.code, message)
    }

    private func way(to place: [Int]) -> String {
        let way = self.source.value.way(to: place)
        return self.member.map { $0 + way } ?? String(Substring(way.utf8.dropFirst()))
    }
}

extension JSONValue {
    /// Returns the path to a part by names, such as `.operations[1]`, from the path by indices.
    fileprivate func way(to place: [Int]) -> String {
        guard let first = place.first else { return "" }
        let rest = Array(place.dropFirst())
        if let elements = self.array, elements.indices.contains(first) {
            return "[\(first)]" + elements[first].way(to: rest)
        }
        guard let members = self.object?.members, members.indices.contains(first) else { return "" }
        return ".\(members[first].key.beginning)" + members[first].value.way(to: rest)
    }
}

extension Schema {
    static let scenario = Self.object(
        "Scenario",
        [
            .optional("clock", ClockChange.schema, "The time to which the clock is set before anything is made."),
            .optional("templates", .list(of: .template)),
            .optional("callbacks", .list(of: CloudAPI.NewCallback.schema)),
            .optional("registrations", .list(of: CloudClient.NewRegistration.schema.strict)),
            .optional("devices", .list(of: Emulator.NewDevice.schema), "Virtual devices, which are active at once."),
            .optional("operations", .list(of: CloudClient.NewOperation.schema.strict)),
            .optional("messages", .list(of: CloudClient.NewMessage.schema.strict)),
            .optional("faults", .list(of: FaultRule.schema), "Rules that are added to those there are."),
        ]
    )

    static let playedScenario = Self.object(
        "PlayedScenario",
        [
            .required("templates", .strings, "The names."), .required("callbacks", .list(of: CloudAPI.Callback.schema)),
            .required("registrations", .list(of: CloudClient.Registration.schema)),
            .required("devices", .list(of: Emulator.VirtualDevice.schema)),
            .required("operations", .list(of: CloudClient.Operation.schema)),
            .required("messages", .list(of: CloudClient.Message.schema)),
        ]
    )
}
