import APIDescriptions
import Basics
import EmulatorMessages

// A rule that never strikes, or strikes and does nothing, hides a mistake; so does a filter that finds nothing.

/// Refusals of a method or a path that no request has.
enum RequestPattern {
    private static let methods = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]

    static func objection(toMethod method: String) -> Schema.Objection? {
        guard !Self.methods.contains(where: method.equalsIgnoringASCIICase) else { return nil }
        let hint = Suggestion.closest(to: method.uppercased(), among: Self.methods)
        return .init(member: "method", hint: "is none of HTTP's" + (hint.map { "; did you mean '\($0)'?" } ?? ""))
    }

    /// - Parameter ofControlAPI: The end of the objection to a path of the control API or of a page, such as
    ///   `is never struck`.
    static func objection(toPath path: String, _ ofControlAPI: String) -> Schema.Objection? {
        guard ["/", "*", "http://", "https://"].contains(where: { path.utf8.starts(with: $0.utf8) }) else {
            return .init(member: "path", hint: "begins with neither a slash nor * nor **, as '\(path)' does not")
        }
        let pattern = PathPattern(ofRequests: path)
        guard pattern.isOfCallbacks || pattern.canBegin(with: "/") else {
            return .init(member: "path", hint: "fits no path: * is anything but a slash, ** is anything")
        }
        if !pattern.isOfCallbacks, path.utf8.contains(UInt8(ascii: "?")) {
            return .init(member: "path", hint: "has a query, which is no part of the path")
        }
        if path.utf8.starts(with: "/_emulator".utf8) {
            return .init(member: "path", hint: "is one of the control API, which \(ofControlAPI)")
        }
        if case .route = ControlAPI.routes.match(method: "GET", path: path) {
            return .init(member: "path", hint: "is one of the server's pages, which \(ofControlAPI)")
        }
        guard let space = SpacePath(path) else { return nil }
        return .init(member: "path", hint: "leads into a space, whose own paths begin after '\(space.id)'")
    }
}

extension PathPattern {
    /// Indicates whether it fits addresses that callbacks go to, and no path of a request.
    fileprivate var isOfCallbacks: Bool {
        !self.canBegin(with: "/") && ["http://", "https://"].contains(where: self.canBegin)
    }
}

extension FaultRule {
    /// The reason why a rule for callbacks alone strikes none, or a part of it does nothing: the server sends them, and reads of the
    /// response no more than its status.
    var objection: Schema.Objection? {
        guard let path = self.match.path, PathPattern(ofRequests: path).isOfCallbacks else { return nil }
        if let method = self.match.method, !method.equalsIgnoringASCIICase("POST") {
            return .init(member: "match.method", hint: "is not that of callbacks, which is POST")
        }
        if self.match.activation != nil {
            return .init(member: "match.activation", hint: "is of no callback: those name none")
        }
        let effect = self.effect
        let lost = [
            ("code", effect.code != nil), ("retryAfter", effect.retryAfter != nil), ("body", effect.body != nil),
            ("contentType", effect.contentType != nil), ("drip", effect.drip != nil),
            ("clockSkew", effect.clockSkew != nil),
        ].first { $0.1 }?.0
        return lost.map { .init(member: "effect.\($0)", hint: "does nothing to a callback") }
    }
}

extension FaultRule.Match {
    /// The reason why no request can be struck; `nil` when one can.
    var objection: Schema.Objection? {
        if let objection = self.method.flatMap(RequestPattern.objection(toMethod:)) { return objection }
        if let objection = self.path.flatMap({ RequestPattern.objection(toPath: $0, "is never struck") }) {
            return objection
        }
        if let nth, let first, nth > first {
            return .init(member: "nth", hint: "is \(nth), which is never among the first \(first)")
        }
        guard self.probability == 0 else { return nil }
        return .init(member: "probability", hint: "is 0: no request would be struck")
    }
}

extension FaultRule.Effect {
    /// The reason why the rule, or a part of it, does nothing; `nil` when all of it does something.
    var objection: Schema.Objection? {
        if self.delay == 0 { return .init(member: "delay", hint: "is 0, which does nothing") }
        if self.clockSkew == 0 { return .init(member: "clockSkew", hint: "is 0, which does nothing") }
        if let contentType, contentType.isEmpty || contentType.utf8.contains(where: { !(0x20...0x7E).contains($0) }) {
            return .init(member: "contentType", hint: "cannot be sent: it is empty, or not ASCII that can be printed")
        }
        if self.code != nil, self.status == nil { return .init(member: "code", hint: "needs a 'status'") }
        let spoiled = [
            ("retryAfter", self.retryAfter != nil), ("body", self.body != nil),
            ("contentType", self.contentType != nil),
            ("drip", self.drip != nil),
        ].first { $0.1 }?.0
        if self.reset != nil, let lost = self.status != nil ? "status" : spoiled {
            return .init(member: lost, hint: "does nothing where the connection is reset")
        }
        let isHandled = self.status == nil && self.reset != .before
        if self.clockSkew != nil, !isHandled {
            return .init(member: "clockSkew", hint: "does nothing where the request is not looked at")
        }
        let isDelayed = self.delay != nil || self.latency != nil
        let isEmpty = !isDelayed && self.reset == nil && self.status == nil && self.clockSkew == nil
        return isEmpty && spoiled == nil ? .init(member: "", hint: "does nothing") : nil
    }
}
