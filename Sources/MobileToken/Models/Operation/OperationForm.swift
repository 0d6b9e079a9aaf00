import Basics
import ExactJSON
import PowerAuthProtocol

/// The form that a person is shown before deciding.
public struct OperationForm: Sendable, Hashable {
    /// The title.
    public let title: String
    /// The message.
    public let message: String
    /// The texts for after the decision.
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

    /// Returns the attribute with an identifier, such as `operation.amount`; `nil` when there is none, or more than one.
    public func attribute(_ id: String) -> UserOperation.Attribute? {
        let matches = self.attributes.filter { $0.id?.isExactly(id) == true }
        return matches.count == 1 ? matches.first : nil
    }

    /// Returns the text of the attribute with an identifier, such as `login.country`: a string or a note. `nil` when it is of
    /// another type, or there is none, or more than one.
    public func text(of id: String) -> String? {
        switch self.attribute(id)?.content {
        case .keyValue(let text), .note(let text): text
        default: nil
        }
    }
}

extension OperationForm {
    /// Texts to show instead of an application's own after a decision.
    public struct ResultTexts: Sendable, Hashable {
        /// The text to show after the operation was approved.
        public let success: String?
        /// The text to show after the operation failed.
        public let failure: String?
        /// The text to show after the operation was rejected.
        public let reject: String?

        /// Creates texts.
        public init(success: String? = nil, failure: String? = nil, reject: String? = nil) {
            self.success = success
            self.failure = failure
            self.reject = reject
        }
    }
}

extension OperationForm {
    init(_ view: JSONView, _ log: inout IssueLog) throws(DecodingIssue) {
        self.title = try view.required("title", .string, log)
        self.message = try view.required("message", .string, log)
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
