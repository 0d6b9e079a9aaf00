import Basics
import ExactJSON
import PowerAuthProtocol

/// Keeps count of where a decoder is and of what it could not read.
///
/// The first issues are kept and the rest counted: a server that sends nothing but rubbish must not be paid for in memory.
struct IssueLog {
    /// The number of issues that a list keeps.
    static let capacity = 100
    /// The number of elements that a list inside an operation may have; one with more is reported as a whole.
    static let innerListLimit = 1_000
    /// The number of bytes that are kept of the JSON in the place of an issue.
    private static let jsonCapacity = 16 << 10

    private(set) var issues: [DecodingIssue] = []
    /// The number of issues that were counted and not kept.
    private(set) var omittedCount = 0
    private var capacity = Self.capacity
    private var path: [Step] = []

    private enum Step {
        case member(String)
        case element(Int)
    }

    /// Indicates whether anything was reported.
    var isEmpty: Bool { self.issues.isEmpty && self.omittedCount == 0 }

    /// Returns a log of its own for a part that tells its issues too, such as an operation of a list.
    ///
    /// It keeps at least one, so that a part that has issues never looks as if it had none.
    func forPart() -> Self {
        var part = Self()
        part.path = self.path
        part.capacity = max(1, self.capacity - self.issues.count)
        return part
    }

    /// Takes over what a part reported.
    mutating func add(_ part: Self) {
        for issue in part.issues { self.report(issue) }
        self.omittedCount += part.omittedCount
    }

    /// Reads a member with this log knowing that it is there.
    mutating func inside<Result, Failure: Error>(
        _ member: String,
        _ body: (inout Self) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        self.path.append(.member(member))
        defer { self.path.removeLast() }
        return try body(&self)
    }

    /// Reads what can be read of an array's elements; `read` returns nil for one that it reported and gave up.
    ///
    /// - Parameter limit: Of a longer array nothing is read, and it is reported as a whole.
    mutating func elements<Element>(
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

    /// Returns an issue at the present place, or at a member of it.
    func issue(_ reason: DecodingIssue.Reason, member: String? = nil, at view: JSONView? = nil) -> DecodingIssue {
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
    /// Returns whether there are no more elements than this, without going through those beyond.
    func isCount(atMost limit: Int) -> Bool {
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
    /// Returns a member as it came: nil when it is not there or `null`, nil and reported when it is there twice.
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

    /// Returns the value as it came, without the parts that no string can hold, which are reported: a name or string
    /// with half a surrogate pair.
    ///
    /// - Returns: Nil when the value is such a string itself.
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

    /// Returns the members of an object as they came, without those that no string can hold, which are reported.
    ///
    /// - Parameter known: The names of members that were read already.
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
