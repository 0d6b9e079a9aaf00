import Basics

/// One call, described once: how it is made, who may make it, what it takes and gives.
///
/// A server handles it, and a client can send it: neither states any of it again. Callers within the process pass an `Input`.
package struct Endpoint<Input: Sendable, Output: Sendable>: Routable {
    package let method: String
    package let path: String
    package let description: RouteDescription
    /// Reads what the call was given.
    package let input: @Sendable (Call) throws(Schema.Objection) -> Input
    /// Writes a call that gives this.
    package let call: @Sendable (Input) -> Call
    package let output: Form<Output>
    private let segments: [Segment]

    private enum Segment {
        case fixed(String)
        /// One in braces.
        case argument(name: String)
    }

    /// - Parameters:
    ///   - parts: The parts of a request, in the order of `Input`.
    ///   - description: The rest of the description for callers; the query and the body of `parts` are added to it.
    package init<each Part: Sendable>(
        _ method: String,
        _ path: String,
        takes parts: repeat Call.Part<each Part>,
        gives output: Form<Output>,
        _ description: RouteDescription
    ) where Input == (repeat each Part) {
        var description = description
        for part in repeat each parts {
            description.query += part.query
            description.request = part.body ?? description.request
        }
        self.segments = path.split(separator: "/").map { segment in
            segment.utf8.first == UInt8(ascii: "{")
                ? .argument(name: String(segment.dropFirst().dropLast())) : .fixed(String(segment))
        }
        let takesQuery = !description.query.isEmpty
        (self.method, self.path, self.description, self.output) = (method, path, description, output)
        self.input = { (call) throws(Schema.Objection) in
            if !takesQuery, let pair = call.query.first {
                throw Schema.Objection(member: pair.name.beginning, hint: "is not known here")
            }
            do throws(Schema.Objection) {
                return (repeat try (each parts).read(call))
            } catch {
                throw error
            }
        }
        self.call = { input in
            var call = Call()
            for (part, value) in repeat (each parts, each input) { part.write(value, &call) }
            return call
        }
    }

    /// Indicates whether the call changes nothing, so that it may arrive twice.
    package var isRead: Bool { self.method.isExactly("GET") }

    /// Returns the path of a call, percent-encoded.
    package func path(of call: Call) -> String {
        self.segments.reduce(into: "") { path, segment in
            path += "/"
            switch segment {
            case .fixed(let segment): path += segment
            case .argument(let name): path += PercentEncoding.encode(call.arguments[name] ?? "")
            }
        }
    }

    /// - Parameter arguments: The values of the segments in braces, in the order of the path.
    package func arguments(_ arguments: [String]) -> [String: String] {
        let names = self.segments.compactMap { if case .argument(let name) = $0 { name } else { nil } }
        return Dictionary(zip(names, arguments)) { first, _ in first }
    }
}
