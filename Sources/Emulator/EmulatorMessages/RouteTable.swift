package import APIDescriptions

/// Finds the route of a request in time proportional to the length of its path.
package struct RouteTable<Route: Routable>: Sendable {
    /// The result of a lookup by method and path.
    package enum Match {
        /// The route, with the percent-decoded values of segments in braces, in order.
        case route(Route, arguments: [String])
        /// The path exists with other methods, in the order of the table.
        case wrongMethod(allowed: [String])
        case none
    }

    package static var anyMethod: String { "*" }

    /// All routes, in declaration order.
    package let routes: [Route]
    /// The paths as a tree, the root first.
    private var nodes = [Node()]

    private struct Node: Sendable {
        var children: [Substring: Int] = [:]
        /// The node for a segment in braces.
        var parameter: Int?
        /// The node for `**`.
        var rest: Int?
        var routes: [Route] = []
        /// The methods of the routes, in order.
        var methods: [String] = []
    }

    package init(_ routes: [Route]) {
        self.routes = routes
        for route in routes {
            var place = 0
            for segment in Self.segments(of: route.path) { place = self.addNode(segment, below: place) }
            self.nodes[place].routes.append(route)
            self.nodes[place].methods.append(route.method)
        }
    }

    private mutating func addNode(_ segment: Substring, below parent: Int) -> Int {
        let isParameter = segment.utf8.first == UInt8(ascii: "{")
        let node = self.nodes[parent]
        let known = isParameter ? node.parameter : segment == "**" ? node.rest : node.children[segment]
        if let known { return known }
        let added = self.nodes.count
        self.nodes.append(Node())
        if isParameter {
            self.nodes[parent].parameter = added
        } else if segment == "**" {
            self.nodes[parent].rest = added
        } else {
            self.nodes[parent].children[segment] = added
        }
        return added
    }

    package func match(method: String, path: String) -> Match {
        guard path.utf8.first == UInt8(ascii: "/") else { return .none }
        var arguments: [String] = []
        var place: Int? = 0
        var rest: Int?
        for segment in Self.segments(of: path) {
            guard let current = place else { break }
            rest = self.nodes[current].rest ?? rest
            if let child = self.nodes[current].children[segment] {
                place = child
            } else {
                place = segment.isEmpty ? nil : self.nodes[current].parameter
                if place != nil { arguments.append(percentDecoded(String(segment))) }
            }
        }
        if let found = place, self.nodes[found].routes.isEmpty { place = nil }
        guard let place = place ?? rest else { return .none }
        // Avoids copying routes, which are large.
        let methods = self.nodes[place].methods
        guard let index = methods.firstIndex(where: { $0 == method || $0 == Self.anyMethod }) else {
            return .wrongMethod(allowed: methods)
        }
        return .route(self.nodes[place].routes[index], arguments: arguments)
    }

    /// Returns the segments after the first slash, by bytes, because the path is external input.
    private static func segments(of path: String) -> some Sequence<Substring> {
        let slash = UInt8(ascii: "/")
        return sequence(state: path.utf8.firstIndex(of: slash).map { path.utf8[$0...].dropFirst() }) { rest in
            guard let bytes = rest else { return nil }
            let end = bytes.firstIndex(of: slash)
            rest = end.map { bytes[$0...].dropFirst() }
            return Substring(bytes[..<(end ?? bytes.endIndex)])
        }
    }
}
