import Basics
package import ExactJSON

/// Tracks a decoder's position and the parts it could not read.
///
/// It keeps the first issues and counts the rest, so a server that sends garbage costs no memory.
package struct IssueLog {
    /// The number of issues that a list keeps.
    static let capacity = 100
    /// The maximum length of a list inside an operation. A longer list is reported as a whole.
    package static let innerListLimit = 1_000
    /// The number of bytes kept of an issue's JSON.
    private static let jsonCapacity = 16 << 10

    package private(set) var issues: [DecodingIssue] = []
    /// The number of issues counted but not kept.
    package private(set) var omittedCount = 0
    private var capacity = Self.capacity
    private var path: [Step] = []

    package init() {}

    private enum Step {
        case member(String)
        case element(Int)
    }

    /// Returns a separate log for a part that reports its own issues, such as an operation of a list.
    ///
    /// It keeps at least one issue, so a part with issues never appears to have none.
    func forPart() -> Self {
        var part = Self()
        part.path = self.path
        part.capacity = max(1, self.capacity - self.issues.count)
        return part
    }

    mutating func add(_ part: Self) {
        for issue in part.issues { self.report(issue) }
        self.omittedCount += part.omittedCount
    }

    /// Reads a member, with its name on the log's path.
    package mutating func inside<Result, Failure: Error>(
        _ member: String,
        _ body: (inout Self) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        self.path.append(.member(member))
        defer { self.path.removeLast() }
        return try body(&self)
    }

    /// Reads the readable elements of an array. `read` returns nil for an element that it reported and skipped.
    ///
    /// - Parameter limit: A longer array is not read, and is reported as a whole.
    package mutating func elements<Element>(
        of array: JSONView,
        limit: Int = Self.innerListLimit,
        _ read: (JSONView, inout Self) throws(DecodingIssue) -> Element?
    ) -> [Element] {
        guard array.elements.isCount(atMost: limit) else {
            self.report(.unreadable(expected: "a list of at most \(limit)"), array)
            return []
        }
        var elements: [Element] = []
        for (index, view) in array.elements.enumerated() {
            self.path.append(.element(index))
            do throws(DecodingIssue) {
                if let element = try read(view, &self) { elements.append(element) }
            } catch {
                self.report(error)
            }
            self.path.removeLast()
        }
        return elements
    }

    mutating func report(_ issue: DecodingIssue) {
        guard self.issues.count < self.capacity else {
            self.omittedCount += 1
            return
        }
        self.issues.append(issue)
    }

    mutating func report(_ reason: DecodingIssue.Reason, _ view: JSONView) {
        guard self.issues.count < self.capacity else {
            self.omittedCount += 1
            return
        }
        self.issues.append(self.issue(reason, at: view))
    }

    /// Returns an issue at the current path, or at a member of it.
    package func issue(_ reason: DecodingIssue.Reason, member: String? = nil, at view: JSONView? = nil) -> DecodingIssue
    {
        var text = ""
        for step in self.path + (member.map { [.member($0)] } ?? []) {
            switch step {
            case .member(let name): text += text.isEmpty ? name : ".\(name)"
            case .element(let index): text += "[\(index)]"
            }
        }
        let json = view.map { Array($0.bytes.prefix(Self.jsonCapacity)) } ?? []
        return DecodingIssue(path: text, reason: reason, json: json)
    }
}

extension JSONElements {
    /// Returns whether there are at most `limit` elements, without counting further.
    package func isCount(atMost limit: Int) -> Bool {
        var count = 0
        for _ in self {
            count += 1
            if count > limit { return false }
        }
        return true
    }
}

// MARK: - JSON as it came

extension IssueLog {
    /// Returns a member unchanged: nil if absent or `null`, nil with an issue if repeated.
    mutating func json(of member: String, in view: JSONView) -> JSONValue? {
        switch view.member(member) {
        case .absent:
            return nil
        case .one(let value):
            return value.isNull ? nil : self.inside(member) { log in log.json(value) }
        case .repeated:
            self.report(self.issue(.repeated, member: member, at: view))
            return nil
        }
    }

    /// Returns the value without names and strings that contain half a surrogate pair, which are reported.
    ///
    /// - Returns: Nil if the value itself is such a string.
    mutating func json(_ view: JSONView) -> JSONValue? {
        if let whole = try? JSONValue(view) { return whole }
        if view.isArray {
            var elements: [JSONValue] = []
            for (index, element) in view.elements.enumerated() {
                self.path.append(.element(index))
                if let element = self.json(element) { elements.append(element) }
                self.path.removeLast()
            }
            return .array(elements)
        }
        guard view.isObject else {
            self.report(.unreadable(expected: "a valid string"), view)
            return nil
        }
        return .object(self.members(of: view))
    }

    /// Returns an object's members without those that no string can hold, which are reported.
    ///
    /// - Parameter known: The names of members already read.
    mutating func members(of view: JSONView, besides known: Set<ExactString> = []) -> JSONObject {
        var members: [JSONObject.Member] = []
        for (name, value) in view.members {
            guard let key = name.string else {
                self.report(.unreadable(expected: "a valid name"), name)
                continue
            }
            guard !known.contains(ExactString(key)) else { continue }
            if let value = self.inside(key, { log in log.json(value) }) {
                members.append(JSONObject.Member(key: key, value: value))
            }
        }
        return JSONObject(members)
    }
}
