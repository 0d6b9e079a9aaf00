import APIDescriptions
import Basics
import EmulatorMessages

// A rule that never applies, or has no effect, hides a mistake; so does a filter that matches nothing.

/// Objections to methods and paths that no request has.
enum RequestPattern {
    private static let methods = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]

    static func objection(toMethod method: String) -> Schema.Objection? {
        guard !Self.methods.contains(where: method.equalsIgnoringASCIICase) else { return nil }
        let hint = Suggestion.closest(to: method.uppercased(), among: Self.methods)
        return .init(member: "method", hint: "is none of HTTP's" + (hint.map { "; did you mean '\($0)'?" } ?? ""))
    }

    /// - Parameter ofControlAPI: The end of the objection to a path of the control API or a page, such as `is never struck`.
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
    /// Indicates whether it matches callback addresses, but no request path.
    fileprivate var isOfCallbacks: Bool {
        !self.canBegin(with: "/") && ["http://", "https://"].contains(where: self.canBegin)
    }
}

extension FaultRule {
    /// The reason why a rule only for callbacks never applies, or part of it has no effect: the server sends these requests, and
    /// reads only the response's status.
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
            ("clockSkew", effect.clockSkew != nil), ("page", effect.page != nil), ("hold", effect.hold != nil),
            ("late", effect.late != nil && (effect.status != nil || effect.reset != nil)),
            ("repeat", effect.repeat != nil), ("strip", effect.strip != nil),
        ].first { $0.1 }?.0
        return lost.map { .init(member: "effect.\($0)", hint: "does nothing to a callback") }
    }
}

extension FaultRule.Match {
    /// The reason why no request can match; `nil` if one can.
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
    /// The reason why the rule, or part of it, has no effect; `nil` if all of it has one.
    var objection: Schema.Objection? {
        if self.delay == 0 { return .init(member: "delay", hint: "is 0, which does nothing") }
        if self.jitter == 0 { return .init(member: "jitter", hint: "is 0, which does nothing") }
        if self.clockSkew == 0 { return .init(member: "clockSkew", hint: "is 0, which does nothing") }
        if let contentType, contentType.isEmpty || contentType.utf8.contains(where: { !(0x20...0x7E).contains($0) }) {
            return .init(member: "contentType", hint: "cannot be sent: it is empty, or not ASCII that can be printed")
        }
        if self.hold == 0 { return .init(member: "hold", hint: "is 0, which does nothing") }
        if self.late == 0 { return .init(member: "late", hint: "is 0, which does nothing") }
        if self.code != nil, self.status == nil { return .init(member: "code", hint: "needs a 'status'") }
        return self.contradiction ?? self.emptiness
    }

    private var spoils: [(name: String, isSet: Bool)] {
        [
            ("retryAfter", self.retryAfter != nil), ("body", self.body != nil),
            ("contentType", self.contentType != nil),
            ("drip", self.drip != nil),
        ]
    }

    /// A part that has no effect beside another.
    private var contradiction: Schema.Objection? {
        let spoiled = self.spoils.first { $0.isSet }?.name
        let isAnswered = self.status != nil ? "status" : self.page != nil ? "page" : spoiled
        if self.reset != nil, let lost = isAnswered {
            return .init(member: lost, hint: "does nothing where the connection is reset")
        }
        if self.status != nil, self.page != nil { return .init(member: "page", hint: "is given beside 'status'") }
        if self.late != nil, self.reset == .after || self.page?.when == .after {
            let name = self.reset == nil ? "page.when" : "reset"
            return .init(member: name, hint: "is 'after', and what is late is answered before it is carried out")
        }
        guard self.standsIn else { return nil }
        let unseen = [
            ("clockSkew", self.clockSkew != nil), ("hold", self.hold != nil), ("repeat", self.repeat != nil),
            ("strip", self.strip != nil),
        ].first { $0.1 }?.0
        // A late request is executed in the end.
        guard self.late == nil, let unseen else { return nil }
        return .init(member: unseen, hint: "does nothing where the request is not looked at")
    }

    private var emptiness: Schema.Objection? {
        let does =
            self.delay != nil || self.jitter != nil || self.reset != nil || self.status != nil || self.clockSkew != nil
            || self.page != nil || self.hold != nil || self.late != nil || self.repeat != nil || self.strip != nil
            || self.spoils.contains { $0.isSet }
        return does ? nil : .init(member: "", hint: "does nothing")
    }
}
