import Basics

/// A call with a single description: method, path, access, input and output.
///
/// A server handles it and a client sends it from this description. In-process callers pass an `Input`.
package struct Endpoint<Input: Sendable, Output: Sendable>: Routable {
    package let method: String
    package let path: String
    package let description: RouteDescription
    /// Reads a call's input.
    package let input: @Sendable (Call) throws(Schema.Objection) -> Input
    /// Creates a call from its input.
    package let call: @Sendable (Input) -> Call
    package let output: Form<Output>
    private let segments: [Segment]

    private enum Segment {
        case fixed(String)
        /// A segment in braces.
        case argument(name: String)
    }

    /// - Parameters:
    ///   - parts: The parts of a request, in the order of `Input`.
    ///   - description: The rest of the description; the query and the body of `parts` are added to it.
    package init<each Part: Sendable>(
        _ line: CallLine,
        takes parts: repeat Call.Part<each Part>,
        gives output: Form<Output>,
        _ description: RouteDescription
    ) where Input == (repeat each Part) {
        var description = description
        for part in repeat each parts {
            description.query += part.query
            description.request = part.body ?? description.request
        }
        self.segments = line.path.split(separator: "/").map { segment in
            segment.utf8.first == UInt8(ascii: "{")
                ? .argument(name: String(segment.dropFirst().dropLast())) : .fixed(String(segment))
        }
        let takesQuery = !description.query.isEmpty
        (self.method, self.path) = (line.method, line.path)
        (self.description, self.output) = (description, output)
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

    /// Indicates whether the call changes nothing, so that it may be repeated.
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

    /// - Parameter arguments: The values of the segments in braces, in path order.
    package func arguments(_ arguments: [String]) -> [String: String] {
        let names = self.segments.compactMap { if case .argument(let name) = $0 { name } else { nil } }
        return Dictionary(zip(names, arguments)) { first, _ in first }
    }
}
