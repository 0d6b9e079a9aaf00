package import APIDescriptions

/// Finds the route of a request along the segments of its path.
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
    private var tree = PathTree()

    package init(_ routes: [Route]) {
        self.routes = routes
        for (index, route) in routes.enumerated() { self.tree.add(index, route.method, route.path) }
    }

    package func match(method: String, path: String) -> Match {
        guard let (found, arguments) = self.tree.match(path) else { return .none }
        guard let index = found.first(where: { $0.method == method || $0.method == Self.anyMethod })?.index else {
            return .wrongMethod(allowed: found.map(\.method))
        }
        return .route(self.routes[index], arguments: arguments)
    }
}

/// The paths of a table, with the places of their routes. Not generic, since a generic one takes twice the time.
private struct PathTree: Sendable {
    private struct Node: Sendable {
        var children: [(name: [UInt8], node: Int)] = []
        /// The node for a segment in braces.
        var parameter: Int?
        /// The node for `**`.
        var rest: Int?
        /// The methods and places of the routes, in order.
        var routes: [(method: String, index: Int)] = []
    }

    /// The root first.
    private var nodes = [Node()]

    mutating func add(_ index: Int, _ method: String, _ path: String) {
        let place = Self.segments(of: path).reduce(0) { self.addNode(Array($1), below: $0) }
        self.nodes[place].routes.append((method, index))
    }

    private mutating func addNode(_ segment: [UInt8], below parent: Int) -> Int {
        let isParameter = segment.first == UInt8(ascii: "{")
        let isRest = segment.elementsEqual("**".utf8)
        let node = self.nodes[parent]
        let known = isParameter ? node.parameter : isRest ? node.rest : node.children.first { $0.name == segment }?.node
        if let known { return known }
        let added = self.nodes.count
        self.nodes.append(Node())
        if isParameter {
            self.nodes[parent].parameter = added
        } else if isRest {
            self.nodes[parent].rest = added
        } else {
            self.nodes[parent].children.append((segment, added))
        }
        return added
    }

    /// Returns a path's routes, and the arguments in it.
    func match(_ path: String) -> (routes: [(method: String, index: Int)], arguments: [String])? {
        guard path.utf8.first == UInt8(ascii: "/") else { return nil }
        var arguments: [String] = []
        var place: Int? = 0
        var rest: Int?
        for segment in Self.segments(of: path) {
            guard let current = place else { break }
            rest = self.nodes[current].rest ?? rest
            if let child = self.nodes[current].children.first(where: { $0.name.elementsEqual(segment) }) {
                place = child.node
            } else {
                place = segment.isEmpty ? nil : self.nodes[current].parameter
                if place != nil { arguments.append(percentDecoded(String(decoding: segment, as: UTF8.self))) }
            }
        }
        if let found = place, self.nodes[found].routes.isEmpty { place = nil }
        return (place ?? rest).map { (self.nodes[$0].routes, arguments) }
    }

    /// Returns the segments after the first slash, by bytes, because the path is external input.
    private static func segments(of path: String) -> ArraySlice<ArraySlice<UInt8>> {
        Array(path.utf8).split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
    }
}
