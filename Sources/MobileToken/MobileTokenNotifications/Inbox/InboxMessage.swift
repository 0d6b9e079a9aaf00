import Basics
import ExactJSON
public import Foundation
public import MobileToken
package import MobileTokenErrors

/// A message in the inbox.
public struct InboxMessage: Sendable, Hashable, Identifiable {
    /// The format of the body.
    public enum ContentType: Sendable, Hashable {
        /// Plain text.
        case text
        /// HTML.
        case html
        /// A type unknown to this version, as the server sent it.
        case unknown(String)
    }

    /// The message's identifier.
    public let id: String
    /// The format of the body.
    public let contentType: ContentType
    /// The subject.
    public let subject: String
    /// A summary of the message.
    public let summary: String?
    /// The text of the message; `nil` in lists. `InboxService.message(id:)` returns it.
    public let body: String?
    /// Indicates whether the message was read.
    public let isRead: Bool
    /// The time when the message was written, in the server's time.
    public let created: Date

    /// Creates a message.
    package init(
        id: String,
        contentType: ContentType = .text,
        subject: String,
        summary: String? = nil,
        body: String? = nil,
        isRead: Bool,
        created: Date
    ) {
        self.id = id
        self.contentType = contentType
        self.subject = subject
        self.summary = summary
        self.body = body
        self.isRead = isRead
        self.created = created
    }
}

extension InboxService {
    /// One page of the inbox.
    public struct Page: Sendable, Hashable {
        /// The readable messages, in the server's order.
        public let messages: [InboxMessage]
        /// The first 100 decoding issues.
        public let issues: [DecodingIssue]
        /// The number of further issues.
        public let omittedIssueCount: Int
        /// The reason the first message missing from ``messages`` could not be read.
        package let firstUnreadable: DecodingIssue?
        /// The number of unreadable messages, which are missing from ``messages``.
        package var unreadableCount: Int { self.receivedCount - self.messages.count }
        /// The number of messages sent, including unreadable ones: a short page is the last.
        package let receivedCount: Int

        /// Creates a page.
        package init(messages: [InboxMessage], issues: [DecodingIssue] = [], omittedIssueCount: Int = 0) {
            self.messages = messages
            self.issues = issues
            self.omittedIssueCount = omittedIssueCount
            self.firstUnreadable = nil
            self.receivedCount = messages.count
        }
    }
}

extension InboxMessage.ContentType: RawRepresentable, Codable {
    /// Creates the type from the server's string, compared exactly.
    public init(rawValue: String) {
        switch ExactString(rawValue) {
        case "text": self = .text
        case "html": self = .html
        default: self = .unknown(rawValue)
        }
    }

    /// The server's string.
    public var rawValue: String {
        switch self {
        case .text: "text"
        case .html: "html"
        case .unknown(let text): text
        }
    }
}

extension InboxMessage: Codable {
    private enum CodingKeys: String, CodingKey {
        case id, subject, summary, body
        case contentType = "type"
        case isRead = "read"
        case created = "timestampCreated"
    }
}

// MARK: - Decoding

extension InboxMessage {
    init(_ view: JSONView, _ log: inout IssueLog) throws(DecodingIssue) {
        guard view.isObject else { throw log.issue(.unreadable(expected: "a message"), at: view) }
        self.init(
            id: try view.required("id", .identifier, log),
            // Older servers send no type, only plain text.
            contentType: view.optional("type", .known, &log) ?? .text,
            subject: try view.required("subject", .string, log),
            summary: view.optional("summary", .string, &log),
            body: view.optional("body", .string, &log),
            isRead: try view.required("read", .flag, log),
            created: try view.requiredDate("timestampCreated", log)
        )
    }

    /// Reads a response with one message and its body.
    package init(response: [UInt8]) throws(MobileTokenError) {
        self = try SuccessResponse(parsing: response).read("message") { (view, log) throws(DecodingIssue) in
            _ = try view.required("body", .string, log)
            return try InboxMessage(view, &log)
        }
    }
}

extension InboxService.Page {
    /// Reads a response with a list of messages.
    package init(response: [UInt8]) throws(MobileTokenError) {
        guard let list = try SuccessResponse(parsing: response).responseObject, list.isArray else {
            throw .unreadableResponse("The response contains no list of messages")
        }
        guard list.elements.isCount(atMost: InboxService.messageLimit) else {
            throw .unreadableResponse("The response contains more than \(InboxService.messageLimit) messages")
        }
        var log = IssueLog()
        var count = 0
        var firstUnreadable: DecodingIssue?
        self.messages = log.inside("responseObject") { log in
            log.elements(of: list, limit: InboxService.messageLimit) { (view, log) throws(DecodingIssue) in
                count += 1
                do throws(DecodingIssue) {
                    return try InboxMessage(view, &log)
                } catch {
                    firstUnreadable = firstUnreadable ?? error
                    throw error
                }
            }
        }
        self.issues = log.issues
        self.omittedIssueCount = log.omittedCount
        self.receivedCount = count
        self.firstUnreadable = firstUnreadable
    }

    /// Reads a response with the number of unread messages.
    package static func unreadCount(response: [UInt8]) throws(MobileTokenError) -> Int {
        try SuccessResponse(parsing: response).read("count") { (view, log) throws(DecodingIssue) in
            try view.required("countUnread", .count, log)
        }
    }
}

extension InboxMessage: Opaque {}
