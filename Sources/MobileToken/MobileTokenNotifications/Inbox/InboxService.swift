import MobileToken
public import PowerAuth
public import PowerAuthClient

/// One activation's inbox: the messages that the server holds for its user.
///
/// A stateless value: each call is one request, and canceling the caller's task cancels it.
public struct InboxService: Sendable {
    /// The largest page size of servers.
    public static let largestPage = 100
    /// The maximum number of messages that ``messages(onlyUnread:)`` reads.
    public static let messageLimit = 1_000

    /// The language of messages.
    public var acceptLanguage: MobileTokenClient.AcceptLanguage

    private let channel: any AuthenticatedChannel

    /// Creates the inbox of an activation.
    ///
    /// - Parameters:
    ///   - activation: An `Activation`, or its replacement in a unit test.
    ///   - acceptLanguage: The language of messages; by default the client's, or English.
    public init(activation: any AuthenticatedChannel, acceptLanguage: MobileTokenClient.AcceptLanguage? = nil) {
        self.channel = activation
        self.acceptLanguage =
            acceptLanguage ?? (activation as? Activation)?.clientConfiguration.acceptLanguage ?? .english
    }

    /// Returns the number of unread messages.
    public func unreadCount() async throws -> Int {
        try await self.post("count", OperationRequest.empty).read { try InboxService.Page.unreadCount(response: $0) }
    }

    /// Returns one page of messages, newest first, without bodies.
    ///
    /// - Parameters:
    ///   - page: The page's number, counted from 0.
    ///   - size: The number of messages on a page, 1 to 100.
    ///   - onlyUnread: `true` leaves out messages that were read.
    /// - Throws: `invalidRequest` for a page or a size out of range.
    public func list(page: Int, size: Int = InboxService.largestPage, onlyUnread: Bool = false) async throws
        -> InboxService.Page
    {
        guard page >= 0, (1...Self.largestPage).contains(size) else {
            throw MobileTokenError(
                .invalidRequest,
                "Pages are counted from 0 and must have 1 to \(Self.largestPage) messages"
            )
        }
        let body = OperationRequest.inboxPage(page, size: size, onlyUnread: onlyUnread)
        return try await self.post("message/list", body).read { try InboxService.Page(response: $0) }
    }

    /// Returns one message with its body.
    ///
    /// - Throws: `inboxFailed` if there is no such message.
    public func message(id: String) async throws -> InboxMessage {
        try await self.post("message/detail", try OperationRequest.id(id)).read { try InboxMessage(response: $0) }
    }

    /// Marks one message as read.
    ///
    /// - Throws: `inboxFailed` if there is no such message.
    public func markRead(id: String) async throws {
        _ = try await self.post("message/read", try OperationRequest.id(id)).read { try SuccessResponse(parsing: $0) }
    }

    /// Marks every message as read.
    public func markAllRead() async throws {
        _ = try await self.post("message/read-all", OperationRequest.empty).read { try SuccessResponse(parsing: $0) }
    }

    /// Returns the messages of all pages, newest first, without bodies, each once: at most ``messageLimit``.
    ///
    /// A page is fetched when its first message is needed. With `onlyUnread`, all pages are fetched before the first message is
    /// returned, so you may mark messages as read during the iteration.
    ///
    /// If some messages could not be read, the iteration ends, after all others, with an `invalidResponse` that gives their
    /// number and the first reason. ``list(page:size:onlyUnread:)`` lists each of them.
    public func messages(onlyUnread: Bool = false) -> InboxService.Messages {
        InboxService.Messages(inbox: self, onlyUnread: onlyUnread)
    }

    private func post(_ call: String, _ body: [UInt8]) async throws -> ChannelResponse {
        try await ServerCall.other.post(
            "/api/inbox/\(call)",
            body: body,
            on: self.channel,
            language: self.acceptLanguage.description
        )
    }
}
