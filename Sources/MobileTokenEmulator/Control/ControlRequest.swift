import Basics
import EmulatorBackend
import EmulatorMessages
import ExactJSON
import Foundation

extension ReceivedRequest {
    /// Refuses a body that is not declared as JSON: it is also what a foreign page cannot send unasked.
    func requireJSON() throws(Refusal) {
        guard self.isJSON else { throw .wrongContentType }
    }

    func decoded<Value: Decodable>(_ type: Value.Type = Value.self) throws(Refusal) -> Value {
        try self.requireJSON()
        do {
            return try ControlJSON.decode(type, from: self.body)
        } catch let error as DecodingError {
            throw Refusal(400, "INVALID_REQUEST", error.explanation)
        } catch {
            throw Refusal(400, "INVALID_REQUEST", "The body is not what is expected here")
        }
    }

    /// Refuses parameters of the query that a route does not have, or not with these values: a filter that is misspelt would
    /// show everything.
    func checkQuery(_ known: [RouteDescription.Parameter]) throws(Refusal) {
        let given = self.query.map { name, value in
            JSONObject.Member(key: name, value: Self.value(value, of: known.first { $0.name.isExactly(name) }))
        }
        let form = Schema.object(known, others: nil)
        if let objection = form.objection(to: .object(JSONObject(given))) { throw .invalidRequest(objection) }
    }

    /// A value as its parameter has it: a number where it wants one and the string is one.
    private static func value(_ string: String, of parameter: RouteDescription.Parameter?) -> JSONValue {
        guard let parameter, parameter.schema.objection(to: .string(string)) != nil else { return .string(string) }
        return Int64(string).map { .number(JSONNumber($0)) } ?? .string(string)
    }

    func number(_ name: String, in range: ClosedRange<Int>) throws(Refusal) -> Int? {
        guard let value = self.queryValue(name) else { return nil }
        guard let number = Int(value), range.contains(number) else {
            throw Refusal(400, "INVALID_REQUEST", "'\(name)' is not \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}

extension DecodingError {
    /// What is wrong and where, for a person.
    var explanation: String {
        let context: Context
        let reason: String
        switch self {
        case .keyNotFound(let key, let found): (context, reason) = (found, "\(key.stringValue) is missing")
        case .typeMismatch(_, let found): (context, reason) = (found, "wrong type")
        case .valueNotFound(_, let found): (context, reason) = (found, "a value is missing")
        case .dataCorrupted(let found): (context, reason) = (found, found.debugDescription)
        @unknown default: return "The body is not what is expected here"
        }
        let path = context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
        return path.isEmpty ? reason : "\(path): \(reason)"
    }
}

extension SummaryPage.Bounds {
    /// The part that a request asks for: the first hundred, unless it says otherwise.
    init(_ request: ReceivedRequest) throws(Refusal) {
        self.init(
            offset: try request.number("offset", in: 0...Int.max) ?? 0,
            limit: try request.number("limit", in: 1...1000) ?? 100
        )
    }
}
