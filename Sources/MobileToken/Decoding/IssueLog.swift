internal import PowerAuthProtocol

/// Keeps count of where a decoder is and of what it could not read.
struct IssueLog {
    private(set) var issues: [DecodingIssue] = []
    private var path: [Step] = []

    private enum Step {
        case member(String)
        case element(Int)
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
    mutating func elements<Element>(
        of array: JSONView,
        _ read: (JSONView, inout Self) throws(DecodingIssue) -> Element?
    ) -> [Element] {
        var elements: [Element] = []
        for (index, view) in array.elements.enumerated() {
            self.path.append(.element(index))
            do throws(DecodingIssue) {
                if let element = try read(view, &self) { elements.append(element) }
            } catch {
                self.issues.append(error)
            }
            self.path.removeLast()
        }
        return elements
    }

    mutating func report(_ issue: DecodingIssue) {
        self.issues.append(issue)
    }

    mutating func report(_ reason: DecodingIssue.Reason, _ view: JSONView) {
        self.issues.append(self.issue(reason, at: view))
    }

    /// An issue at the present place, or at a member of it.
    func issue(_ reason: DecodingIssue.Reason, member: String? = nil, at view: JSONView? = nil) -> DecodingIssue {
        var text = ""
        for step in self.path + (member.map { [.member($0)] } ?? []) {
            switch step {
            case .member(let name): text += text.isEmpty ? name : ".\(name)"
            case .element(let index): text += "[\(index)]"
            }
        }
        return DecodingIssue(path: text, reason: reason, json: view.map { Array($0.bytes) } ?? [])
    }
}
