internal import Basics
internal import ExactJSON
internal import PowerAuthProtocol

/// One request on its way through the backend, with what the journal will say of it.
struct RequestContext {
    let request: ReceivedRequest
    let now: Milliseconds
    /// The identifiers in the path, for routes that have some.
    var pathArguments: [String] = []
    var activationID: String?
    var counterBefore: UInt64?
    var counterAfter: UInt64?
    var events: [BackendEvent] = []

    init(_ request: ReceivedRequest, at now: Milliseconds) {
        self.request = request
        self.now = now
    }

    mutating func report(_ activation: ServerActivation) {
        self.events.append(
            BackendEvent(subject: .activation, id: activation.id, status: activation.status.rawValue)
        )
    }

    mutating func report(_ operation: ServerOperation) {
        self.events.append(BackendEvent(subject: .operation, id: operation.id, status: operation.status.rawValue))
    }

    /// The body as JSON. An object is asked for; an empty body is an empty object.
    func json() throws(BackendRefusal) -> JSONObject {
        guard !self.request.body.isEmpty else { return [:] }
        do {
            let value = try JSONValue(parsing: self.request.body, limits: JSONLimits(maximumDepth: 64))
            guard let object = value.object else {
                throw BackendRefusal.invalidRequest("The body is not a JSON object")
            }
            return object
        } catch let error as JSONError {
            throw .invalidRequest("The body is not JSON (\(error.description))")
        } catch let refusal as BackendRefusal {
            throw refusal
        } catch {
            throw .invalidRequest("The body cannot be read")
        }
    }

    /// The `requestObject` of the body.
    func requestObject() throws(BackendRefusal) -> JSONObject {
        guard let object = try self.json().optionalObject("requestObject") else {
            throw .invalidRequest("The request object is missing")
        }
        return object
    }
}

/// A granted request's answer.
struct Answer {
    var status = 200
    var body: JSONValue

    /// `{"status":"OK"}`.
    static let ok = Self(body: ["status": "OK"])

    /// `{"status":"OK","responseObject":…}`.
    static func object(_ value: JSONValue) -> Self {
        Self(body: ["status": "OK", "responseObject": value])
    }
}

extension JSONObject {
    /// A member that must be a text that is not empty.
    func text(_ name: String) throws(BackendRefusal) -> String {
        guard let text = try self.optionalText(name), !text.isEmpty else {
            throw .invalidRequest("'\(name)' is missing")
        }
        return text
    }

    /// A text, or nil when the member is missing or null.
    func optionalText(_ name: String) throws(BackendRefusal) -> String? {
        guard let value = try self.present(name) else { return nil }
        guard let text = value.string else { throw .invalidRequest("'\(name)' is not a text") }
        return text
    }

    /// A text under the first of two names that is there, or nil.
    func optionalText(_ name: String, or otherName: String) throws(BackendRefusal) -> String? {
        if let text = try self.optionalText(name) { return text }
        return try self.optionalText(otherName)
    }

    /// A text that must be there, and not empty, under the first of two names.
    func text(_ name: String, or otherName: String) throws(BackendRefusal) -> String {
        guard let text = try self.optionalText(name, or: otherName), !text.isEmpty else {
            throw .invalidRequest("'\(name)' is missing")
        }
        return text
    }

    /// A whole number, or nil when the member is missing or null.
    func optionalInteger(_ name: String) throws(BackendRefusal) -> Int64? {
        guard let value = try self.present(name) else { return nil }
        guard let number = value.int64 else { throw .invalidRequest("'\(name)' is not a whole number") }
        return number
    }

    /// A Boolean, or nil when the member is missing or null.
    func optionalBool(_ name: String) throws(BackendRefusal) -> Bool? {
        guard let value = try self.present(name) else { return nil }
        guard let flag = value.bool else { throw .invalidRequest("'\(name)' is not true or false") }
        return flag
    }

    /// An object, or nil when the member is missing or null.
    func optionalObject(_ name: String) throws(BackendRefusal) -> JSONObject? {
        guard let value = try self.present(name) else { return nil }
        guard let object = value.object else { throw .invalidRequest("'\(name)' is not an object") }
        return object
    }

    /// The values of an object's members by name, none when the object is missing or null.
    func valuesByName(of name: String) throws(BackendRefusal) -> [String: JSONValue] {
        guard let object = try self.optionalObject(name) else { return [:] }
        guard object.duplicateKeys.isEmpty else { throw .invalidRequest("'\(name)' gives a member twice") }
        return object.valuesByName
    }

    /// Texts, none when the member is missing or null.
    func texts(_ name: String) throws(BackendRefusal) -> [String] {
        guard let value = try self.present(name) else { return [] }
        let texts = value.array?.compactMap(\.string)
        guard let texts, texts.count == value.array?.count else {
            throw .invalidRequest("'\(name)' is not a list of texts")
        }
        return texts
    }

    /// The members by name; of a repeated name the last.
    var valuesByName: [String: JSONValue] {
        Dictionary(self.members.map { ($0.key, $0.value) }) { _, last in last }
    }

    /// - Throws: When the member is given twice: what it says would depend on who reads it.
    private func present(_ name: String) throws(BackendRefusal) -> JSONValue? {
        var found: JSONValue?
        for member in self.members where member.key.isExactly(name) {
            guard found == nil else { throw .invalidRequest("'\(name)' is given twice") }
            found = member.value
        }
        return found.flatMap { $0.isNull ? nil : $0 }
    }
}
