import Basics
import MobileToken
package import PowerAuthClient

extension InboxService {
    /// The messages of an inbox, page by page. Each iteration starts from the first page.
    public struct Messages: AsyncSequence, Sendable {
        /// The element: a message.
        public typealias Element = InboxMessage

        let inbox: InboxService
        let onlyUnread: Bool

        /// Returns an iterator that starts at the first page.
        public func makeAsyncIterator() -> Iterator {
            Iterator(inbox: self.inbox, onlyUnread: self.onlyUnread)
        }

        /// An iteration over the pages.
        public struct Iterator: AsyncIteratorProtocol {
            private let inbox: InboxService
            private let onlyUnread: Bool
            private var pages: InboxPaging

            init(inbox: InboxService, onlyUnread: Bool) {
                self.inbox = inbox
                self.onlyUnread = onlyUnread
                self.pages = InboxPaging(isCompletedFirst: onlyUnread)
            }

            /// Returns the next message, fetching pages as needed.
            ///
            /// - Throws: `MobileTokenError` or `CancellationError`; calling again retries the same page. After the last message,
            ///   `invalidResponse` once if some messages could not be read.
            public mutating func next() async throws -> InboxMessage? {
                while true {
                    switch self.pages.next() {
                    case .message(let message): return message
                    case .fetch(let page):
                        self.pages.append(try await self.inbox.list(page: page, onlyUnread: self.onlyUnread))
                    case .fail(let error): throw error
                    case .end: return nil
                    }
                }
            }
        }
    }
}

/// The next page to fetch, and the unread messages of the fetched pages.
///
/// Pages are counted from the newest message. A message that arrives meanwhile pushes others to the next page; those come twice
/// and are returned once. Marking messages as read shrinks a page of unread messages and pulls others to earlier pages. So all
/// pages of unread messages are fetched before the first message is returned.
package struct InboxPaging: Sendable {
    package enum Step: Sendable {
        case message(InboxMessage)
        case fetch(page: Int)
        /// Some messages could not be read.
        case fail(MobileTokenError)
        case end
    }

    private let isCompletedFirst: Bool
    private var unread: ArraySlice<InboxMessage> = []
    private var seen: Set<ExactString> = []
    private var page = 0
    private var isComplete = false
    private var unreadableCount = 0
    private var firstIssue: DecodingIssue?

    /// - Parameter isCompletedFirst: `true` to fetch every page before the first message is returned.
    package init(isCompletedFirst: Bool = false) { self.isCompletedFirst = isCompletedFirst }

    package mutating func next() -> Step {
        if self.isCompletedFirst, !self.isComplete { return .fetch(page: self.page) }
        if let message = self.unread.popFirst() { return .message(message) }
        if !self.isComplete { return .fetch(page: self.page) }
        return self.takeFailure().map { .fail($0) } ?? .end
    }

    package mutating func append(_ page: InboxService.Page) {
        // A server may send longer pages than requested.
        let room = max(0, InboxService.messageLimit - self.seen.count)
        self.unread += page.messages.filter { self.seen.insert(ExactString($0.id)).inserted }.prefix(room)
        self.unreadableCount += page.unreadableCount
        self.firstIssue = self.firstIssue ?? page.firstUnreadable
        self.page += 1
        self.isComplete =
            page.receivedCount < InboxService.largestPage
            || self.page * InboxService.largestPage >= InboxService.messageLimit
    }

    private mutating func takeFailure() -> MobileTokenError? {
        guard self.unreadableCount > 0 else { return nil }
        defer { self.unreadableCount = 0 }
        let reason = self.firstIssue.map { "; the first: \($0)" } ?? ""
        let message = "\(self.unreadableCount) messages of the inbox cannot be read\(reason)"
        return .unreadableResponse(message, underlying: self.firstIssue)
    }
}
