/// The messages of an inbox, page after page. Each iteration begins anew.
public struct InboxMessages: AsyncSequence, Sendable {
    /// What one step of the iteration gives.
    public typealias Element = InboxMessage

    let inbox: InboxService
    let onlyUnread: Bool

    /// Begins with the first page.
    public func makeAsyncIterator() -> Iterator {
        Iterator(inbox: self.inbox, onlyUnread: self.onlyUnread)
    }

    /// One way through the pages.
    public struct Iterator: AsyncIteratorProtocol {
        private let inbox: InboxService
        private let onlyUnread: Bool
        private var pages = InboxPaging()

        init(inbox: InboxService, onlyUnread: Bool) {
            self.inbox = inbox
            self.onlyUnread = onlyUnread
        }

        /// The next message, fetching a page when the last one is used up.
        ///
        /// - Throws: `MobileTokenError`, or `CancellationError`. Asking again fetches the same page again.
        public mutating func next() async throws -> InboxMessage? {
            while true {
                if let message = self.pages.removeFirst() { return message }
                guard let page = self.pages.nextPage else { return nil }
                self.pages.append(try await self.inbox.list(page: page, onlyUnread: self.onlyUnread))
            }
        }
    }
}

/// Which page comes next, and what of the pages fetched has not been read.
///
/// Pages are counted from the newest message, so one that arrives meanwhile pushes others to the next page: those come
/// twice and are passed on once.
package struct InboxPaging: Sendable {
    private var unread: ArraySlice<InboxMessage> = []
    private var seen: Set<String> = []
    private var page = 0
    private var isComplete = false

    package init() {}

    /// The page to fetch when nothing is left to read; `nil` when there is no more.
    package var nextPage: Int? { self.isComplete ? nil : self.page }

    package mutating func append(_ page: InboxPage) {
        // A server may send longer pages than it was asked for.
        let room = max(0, InboxService.messageLimit - self.seen.count)
        self.unread = page.messages.filter { self.seen.insert($0.id).inserted }.prefix(room)
        self.page += 1
        self.isComplete =
            page.receivedCount < InboxService.largestPage
            || self.page * InboxService.largestPage >= InboxService.messageLimit
    }

    package mutating func removeFirst() -> InboxMessage? {
        self.unread.popFirst()
    }
}
