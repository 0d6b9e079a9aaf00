import Basics

// A rule that never strikes, or strikes and does nothing, hides a mistake.
extension FaultRule.Match {
    private static let methods = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]

    /// The reason why no request can be struck; `nil` when one can.
    var objection: String? {
        if let method, !Self.methods.contains(where: method.equalsIgnoringASCIICase) {
            let hint = Suggestion.closest(to: method.uppercased(), among: Self.methods)
            return "No request has the method '\(method)'" + (hint.map { "; did you mean '\($0)'?" } ?? "")
        }
        if let path {
            guard ["/", "*", "?", "http://", "https://"].contains(where: { path.utf8.starts(with: $0.utf8) }) else {
                return "No path begins as '\(path)': it begins with a slash, or with * or **"
            }
            if path.utf8.starts(with: "/_emulator".utf8) { return "The control API is never struck" }
        }
        if let nth, let first, nth > first { return "Request \(nth) is never among the first \(first)" }
        return self.probability == 0 ? "With the probability 0 no request is struck" : nil
    }
}

extension FaultRule.Effect {
    /// The reason why the rule, or a part of it, does nothing; `nil` when all of it does something.
    var objection: String? {
        let spoiled = [
            ("retryAfter", self.retryAfter != nil), ("body", self.body != nil),
            ("contentType", self.contentType != nil),
            ("drip", self.drip != nil),
        ].first { $0.1 }?.0
        if self.reset != nil {
            let lost = self.status != nil ? "status" : spoiled
            if let lost { return "'\(lost)' does nothing where the connection is reset" }
        }
        let isHandled = self.status == nil && self.reset != .before
        if self.clockSkew != nil, !isHandled { return "'clockSkew' does nothing where the request is not looked at" }
        let isEmpty = self.delay == nil && self.reset == nil && self.status == nil && self.clockSkew == nil
        return isEmpty && spoiled == nil ? "Nothing would happen" : nil
    }
}
