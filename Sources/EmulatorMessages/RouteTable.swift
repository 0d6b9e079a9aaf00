package import APIDescriptions

/// Finds the route of a request, in time proportional to the length of its path.
package struct RouteTable<Route: Routable>: Sendable {
    /// The outcome of a look-up by method and path.
    package enum Match {
        /// The arguments are what stands in place of segments in braces, in their order, percent-decoded.
        case route(Route, arguments: [String])
        /// The path exists; the methods are in the order of the table.
        case wrongMethod(allowed: [String])
        case none
    }

    package static var anyMethod: String { "*" }

    /// All routes, in the order in which they were declared.
    package let routes: [Route]
    /// The paths as a tree, the root first.
    private var nodes = [Node()]

    private struct Node: Sendable {
        var children: [String: Int] = [:]
        /// The node behind a segment in braces.
        var parameter: Int?
        /// The node behind `**`.
        var rest: Int?
        var routes: [Route] = []
    }

    package init(_ routes: [Route]) {
        self.routes = routes
        for route in routes {
            var place = 0
            for segment in Self.segments(of: route.path) { place = self.addNode(segment, below: place) }
            self.nodes[place].routes.append(route)
        }
    }

    private mutating func addNode(_ segment: String, below parent: Int) -> Int {
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

    /// Looks up a request's method and path.
    package func match(method: String, path: String) -> Match {
        guard path.utf8.first == UInt8(ascii: "/") else { return .none }
        var arguments: [String] = []
        var node = self.nodes[0]
        var rest: Node?
        for segment in Self.segments(of: path) {
            if let index = node.rest { rest = self.nodes[index] }
            if let child = node.children[segment] {
                node = self.nodes[child]
            } else if let parameter = node.parameter, !segment.isEmpty {
                arguments.append(percentDecoded(segment))
                node = self.nodes[parameter]
            } else {
                node = Node()
                break
            }
        }
        let routes = node.routes.isEmpty ? rest?.routes ?? [] : node.routes
        guard !routes.isEmpty else { return .none }
        guard let route = routes.first(where: { $0.method == method || $0.method == Self.anyMethod }) else {
            return .wrongMethod(allowed: routes.map(\.method))
        }
        return .route(route, arguments: arguments)
    }

    /// Returns the segments between the slashes, by bytes: the path comes from outside.
    private static func segments(of path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst().map {
            String(Substring($0))
        }
    }
}
