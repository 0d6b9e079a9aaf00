import APIDescriptions
import Basics
import CloudCalls
import EmulatorMessages
import ExactJSON
import PowerAuthProtocol

/// One request on its way through the backend, and what the journal will say of it.
struct RequestContext {
    var request: ReceivedRequest
    let caller: Backend.Caller
    let now: Milliseconds
    /// The endpoint, once it is found.
    var route: Backend.Route?
    /// The identifiers in the path, for routes that have some.
    var pathArguments: [String] = []
    var activationID: String?
    /// The user that the request named, for calls that are about a user's operations.
    var userID: String?
    var counterBefore: UInt64?
    var counterAfter: UInt64?
    var events: [BackendEvent] = []
    /// The messages that are pushed to devices without anything having changed.
    var pushes: [PushMessage] = []
    var inspection = RequestInspection()
    /// The reason of a "no" that is no refusal: the answer to a question about another request.
    var refusal: String?

    init(_ request: ReceivedRequest, from caller: Backend.Caller = .network, at now: Milliseconds) {
        self.request = request
        self.caller = caller
        self.now = now
    }

    /// - Parameter lastDevice: The device that took push messages until now.
    mutating func report(_ activation: ServerActivation, lastDevice: PushDevice? = nil) {
        var event = BackendEvent(subject: .activation, id: activation.id, status: activation.status.rawValue)
        event.lastDevice = lastDevice
        self.events.append(event)
    }

    mutating func report(_ operation: ServerOperation, isNew: Bool = false, isTold: Bool = true) {
        var event = BackendEvent(subject: .operation, id: operation.id, status: operation.status.rawValue)
        event.isNew = isNew
        event.isTold = isTold
        self.events.append(event)
    }

    /// The body as JSON. An object is asked for; an empty body is an empty object.
    func json() throws(Refusal) -> JSONObject {
        guard !self.request.body.isEmpty else { return [:] }
        do {
            let value = try JSONValue(parsing: self.request.body, limits: JSONLimits(maximumDepth: 64))
            guard let object = value.object else {
                throw Refusal.unreadable("The body is not a JSON object")
            }
            return object
        } catch let error as JSONError {
            throw .unreadable("The body is not JSON (\(error.description))")
        } catch let refusal as Refusal {
            throw refusal
        } catch {
            throw .unreadable("The body cannot be read")
        }
    }

    /// The `requestObject` of the body; `nil` when it is missing or null.
    func optionalRequestObject() throws(Refusal) -> JSONObject? { try self.json().optionalObject("requestObject") }

    /// The `requestObject` of the body, which an endpoint of the standard ones misses in its own way.
    ///
    /// - Parameter refusal: Makes the refusal of the first generation of servers; the second calls it `ERR_VALIDATION`.
    func requestObject(
        _ profile: EmulatorServerProfile,
        missing refusal: (String) -> Refusal
    ) throws(Refusal) -> JSONObject {
        guard let object = try self.optionalRequestObject() else {
            let reason = "requestObject: must not be null"
            throw profile.validatesRequests ? .validation(reason) : refusal(reason)
        }
        return object
    }

    /// The `requestObject` of the body.
    func requestObject() throws(Refusal) -> JSONObject {
        guard let object = try self.optionalRequestObject() else {
            throw .unreadable("The request object is missing")
        }
        return object
    }
}

extension JSONObject {
    /// Returns a member that must be a nonempty string.
    func string(_ name: String) throws(Refusal) -> String {
        guard let string = try self.optionalString(name), !string.isEmpty else {
            throw .invalid(name, "is missing")
        }
        return string
    }

    /// Returns a string, or nil when the member is missing or null.
    func optionalString(_ name: String) throws(Refusal) -> String? {
        guard let value = try self.present(name) else { return nil }
        guard let string = value.string else {
            var refusal = Refusal.invalid(name, "is not a string", value: value)
            refusal.isUnreadable = true
            throw refusal
        }
        return string
    }

    /// Returns a member that must be a nonempty string, which an endpoint of the standard ones misses in its own way.
    func string(
        _ name: String,
        _ profile: EmulatorServerProfile,
        missing refusal: (String) -> Refusal
    ) throws(Refusal) -> String {
        guard let string = try self.optionalString(name), !string.isEmpty else {
            let reason = "\(name): must not be blank"
            throw profile.validatesRequests ? .validation(reason) : refusal(reason)
        }
        return string
    }

    /// Returns a whole number, or nil when the member is missing or null.
    func optionalInteger(_ name: String) throws(Refusal) -> Int64? {
        guard let value = try self.present(name) else { return nil }
        guard let number = value.int64 else { throw .unreadable("'\(name)' is not a whole number") }
        return number
    }

    /// Returns a Boolean, or nil when the member is missing or null.
    func optionalBool(_ name: String) throws(Refusal) -> Bool? {
        guard let value = try self.present(name) else { return nil }
        guard let flag = value.bool else { throw .unreadable("'\(name)' is not true or false") }
        return flag
    }

    /// Returns an object, or nil when the member is missing or null.
    func optionalObject(_ name: String) throws(Refusal) -> JSONObject? {
        guard let value = try self.present(name) else { return nil }
        guard let object = value.object else { throw .unreadable("'\(name)' is not an object") }
        return object
    }

    /// Returns the values of an object's members by name, none when the object is missing or null.
    func valuesByName(of name: String) throws(Refusal) -> [String: JSONValue] {
        guard let object = try self.optionalObject(name) else { return [:] }
        guard object.duplicateKeys.isEmpty else { throw .invalidRequest("'\(name)' gives a member twice") }
        return object.valuesByName
    }

    /// Returns strings, none when the member is missing or null.
    func strings(_ name: String) throws(Refusal) -> [String] {
        guard let value = try self.present(name) else { return [] }
        let strings = value.array?.compactMap(\.string)
        guard let strings, strings.count == value.array?.count else {
            throw .unreadable("'\(name)' is not a list of strings")
        }
        return strings
    }

    /// The members by name; of a repeated name the last.
    var valuesByName: [String: JSONValue] {
        Dictionary(self.members.map { ($0.key, $0.value) }) { _, last in last }
    }

    /// - Throws: A refusal when the member is given twice: its meaning would depend on the reader.
    private func present(_ name: String) throws(Refusal) -> JSONValue? {
        var found: JSONValue?
        for member in self.members where member.key.isExactly(name) {
            guard found == nil else { throw .invalidRequest("'\(name)' is given twice") }
            found = member.value
        }
        // Spelled out: a bare `nil` would be JSON's own.
        return found.flatMap { $0.isNull ? Optional<JSONValue>.none : $0 }
    }
}
