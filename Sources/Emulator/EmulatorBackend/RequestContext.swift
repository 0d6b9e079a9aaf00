import EmulatorMessages
import ExactJSON
import MobileTokenCloud

/// A request in progress, with its data for the journal.
struct RequestContext {
    let request: ReceivedRequest
    let caller: Backend.Caller
    let now: Milliseconds
    /// The endpoint, once it is found.
    var route: Backend.Route?
    /// The identifiers in the path.
    var pathArguments: [String] = []
    var activationID: String?
    /// The user that the request named, for calls on a user's operations.
    var userID: String?
    var counterBefore: UInt64?
    var counterAfter: UInt64?
    var events: [BackendEvent] = []
    /// The push messages that are sent without a change.
    var pushes: [PushMessage] = []
    var inspection = RequestInspection()
    /// The reason of a negative verdict on another request, which is no refusal.
    var refusal: String?
    /// The body is read for the journal, and again by its endpoint.
    private let reading = BodyReading()

    init(_ request: ReceivedRequest, from caller: Backend.Caller = .network, at now: Milliseconds) {
        self.request = request
        self.caller = caller
        self.now = now
    }

    /// - Parameter lastDevice: The former push device.
    mutating func report(_ activation: ServerActivation, lastDevice: PushDevice? = nil) {
        var event = BackendEvent(subject: .activation, id: activation.id, status: activation.status.rawValue)
        event.lastDevice = lastDevice
        self.events.append(event)
    }

    mutating func report(
        _ operation: ServerOperation,
        isNew: Bool = false,
        isTold: Bool = true,
        isChange: Bool = true
    ) {
        var event = BackendEvent(subject: .operation, id: operation.id, status: operation.status.rawValue)
        event.isNew = isNew
        event.isTold = isTold
        event.isChange = isChange
        self.events.append(event)
    }

    /// Returns the body as a JSON object, declared as JSON.
    func json() throws(Refusal) -> JSONObject {
        guard self.request.isJSON else { throw .wrongContentType }
        return try self.envelope()
    }

    /// Returns the body of a request that is opened before its endpoint sees it: a JSON object of any declared type.
    func envelope() throws(Refusal) -> JSONObject {
        let content =
            self.reading.content
            ?? Result { () throws(Refusal) in
                guard let object = try JSONValue(reading: self.request.body).object else {
                    throw .unreadable("The body is not a JSON object")
                }
                return object
            }
        self.reading.content = content
        return try content.get()
    }

    /// Returns the body's `requestObject`; `nil` if it is missing or null.
    func optionalRequestObject() throws(Refusal) -> JSONObject? { try self.json().optionalObject("requestObject") }

    /// Returns the body's `requestObject`, with a standard endpoint's own refusal if it is missing.
    ///
    /// - Parameter refusal: Makes the refusal of the first generation of servers; the second has `ERR_VALIDATION`.
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

    /// Returns the body's `requestObject`.
    func requestObject() throws(Refusal) -> JSONObject {
        guard let object = try self.optionalRequestObject() else {
            throw .unreadable("The request object is missing")
        }
        return object
    }
}

/// The content of a request's body; `nil` until it is read.
private final class BodyReading {
    var content: Result<JSONObject, Refusal>?
}

extension JSONValue {
    /// Reads JSON as leniently as real servers: with a byte-order mark and trailing content.
    init(reading bytes: [UInt8]) throws(Refusal) {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        do {
            try self.init(
                JSONDocument(
                    parsing: bytes.starts(with: mark) ? Array(bytes.dropFirst(mark.count)) : bytes,
                    limits: JSONLimits(maximumDepth: 64),
                    ignoresRest: true
                ).root
            )
        } catch {
            throw .unreadable(bytes.isEmpty ? "The body is empty" : "The body is not JSON (\(error.description))")
        }
    }
}

extension JSONObject {
    /// Returns a required nonempty string.
    func string(_ name: String) throws(Refusal) -> String {
        guard let string = try self.optionalString(name), !string.isEmpty else {
            throw .invalid(name, "is missing")
        }
        return string
    }

    /// Returns a string, or nil if the member is missing or null. Like real servers, accepts numbers and Booleans in their
    /// literal form.
    func optionalString(_ name: String) throws(Refusal) -> String? {
        switch self[name] {
        case nil, .null?: return nil
        case .string(let string)?: return string
        case .number(let number)?: return number.literal
        case .bool(let flag)?: return flag ? "true" : "false"
        case .array?, .object?: throw .unreadable("'\(name)' is not a string")
        }
    }

    /// Returns a required string, with a standard endpoint's own refusal if it is missing. The first generation of servers
    /// accepts an empty one; none accepts a NUL character, which its database cannot hold.
    func string(
        _ name: String,
        _ profile: EmulatorServerProfile,
        missing refusal: (String) -> Refusal
    ) throws(Refusal) -> String {
        let string = try self.optionalString(name)
        if let string, !string.isEmpty || !profile.validatesRequests, !string.utf8.contains(0) { return string }
        let reason = "\(name): must not be blank"
        throw profile.validatesRequests ? .validation(reason) : refusal(reason)
    }

    /// Returns a value of an enumeration, or nil if the member is missing or null. Like real servers, accepts its index and
    /// surrounding white space.
    func enumeration(_ name: String, of values: [String]) throws(Refusal) -> String? {
        guard let text = try self.optionalString(name) else { return nil }
        if let place = self[name]?.int64, let index = Int(exactly: place), values.indices.contains(index) {
            return values[index]
        }
        let blanks: Set<Unicode.Scalar> = [" ", "\t", "\n", "\r"]
        let word = text.unicodeScalars.drop(while: blanks.contains).reversed().drop(while: blanks.contains).reversed()
        guard let value = values.first(where: { $0.unicodeScalars.elementsEqual(word) }) else {
            throw .unreadable("'\(name)' is none of \(values.joined(separator: ", "))")
        }
        return value
    }

    /// Returns a 32-bit integer, or nil if the member is missing, null or an empty string. The number may be in a string.
    func optionalInteger(_ name: String) throws(Refusal) -> Int? {
        guard let number = try self.optionalLong(name) else { return nil }
        guard let integer = Int32(exactly: number) else { throw .unreadable("'\(name)' is too large") }
        return Int(integer)
    }

    /// Returns a 64-bit integer in the same way; fractions are cut off.
    func optionalLong(_ name: String) throws(Refusal) -> Int64? {
        if self[name]?.bool != nil { throw .unreadable("'\(name)' is not a whole number") }
        guard let text = try self.optionalString(name), !text.isEmpty else { return nil }
        guard let number = Int64(text) ?? Double(text).flatMap({ Int64(exactly: $0.rounded(.towardZero)) }) else {
            throw .unreadable("'\(name)' is not a whole number")
        }
        return number
    }

    /// Returns a Boolean, or nil if the member is missing, null or an empty string. It may be in a string, and any number but 0
    /// is true.
    func optionalBool(_ name: String) throws(Refusal) -> Bool? {
        guard let text = try self.optionalString(name), !text.isEmpty else { return nil }
        if let number = self[name]?.int64 { return number != 0 }
        guard let flag = ["true": true, "false": false][text.lowercased()] else {
            throw .unreadable("'\(name)' is not true or false")
        }
        return flag
    }

    /// Returns an object, or nil if the member is missing or null.
    func optionalObject(_ name: String) throws(Refusal) -> JSONObject? {
        guard let value = self[name], !value.isNull else { return nil }
        guard let object = value.object else { throw .unreadable("'\(name)' is not an object") }
        return object
    }

    /// The members by name; the last one if a name is repeated.
    var valuesByName: [String: JSONValue] {
        Dictionary(self.members.map { ($0.key, $0.value) }) { _, last in last }
    }
}
