import Basics
import ExactJSON

/// The form shown to a person before deciding.
public struct OperationForm: Sendable, Hashable {
    /// The title.
    public let title: String
    /// The message.
    public let message: String
    /// The strings to show after the decision.
    public let resultTexts: OperationForm.ResultTexts?
    /// The details, in the server's order.
    public let attributes: [UserOperation.Attribute]

    /// Creates form data.
    public init(
        title: String,
        message: String,
        resultTexts: OperationForm.ResultTexts? = nil,
        attributes: [UserOperation.Attribute] = []
    ) {
        self.title = title
        self.message = message
        self.resultTexts = resultTexts
        self.attributes = attributes
    }

    /// Returns the attribute with an identifier, such as `operation.amount`; `nil` if there is none or more than one.
    public func attribute(_ id: String) -> UserOperation.Attribute? {
        let matches = self.attributes.filter { $0.id?.isExactly(id) == true }
        return matches.count == 1 ? matches.first : nil
    }

    /// Returns the string of an attribute, such as `login.country`: `nil` unless exactly one has the identifier and it is a
    /// string or a note.
    public func text(of id: String) -> String? {
        switch self.attribute(id)?.content {
        case .keyValue(let text), .note(let text): text
        default: nil
        }
    }
}

extension OperationForm {
    /// Strings that replace an application's own after a decision.
    public struct ResultTexts: Sendable, Hashable {
        /// The string to show after an approval.
        public let success: String?
        /// The string to show after a failure.
        public let failure: String?
        /// The string to show after a rejection.
        public let reject: String?

        /// Creates the strings.
        public init(success: String? = nil, failure: String? = nil, reject: String? = nil) {
            self.success = success
            self.failure = failure
            self.reject = reject
        }
    }
}

extension OperationForm {
    init(_ view: JSONView, _ log: inout IssueLog) throws(DecodingIssue) {
        self.title = try view.required("title", .unescapedText, log)
        self.message = try view.required("message", .unescapedText, log)
        self.resultTexts = view.optional("resultTexts", .object, &log).map { texts in
            log.inside("resultTexts") { log in OperationForm.ResultTexts(texts, &log) }
        }
        self.attributes = UserOperation.Attribute.list("attributes", of: view, &log)
    }
}

extension OperationForm.ResultTexts {
    init(_ view: JSONView, _ log: inout IssueLog) {
        self.success = view.optional("success", .string, &log)
        self.failure = view.optional("failure", .string, &log)
        self.reject = view.optional("reject", .string, &log)
    }
}
