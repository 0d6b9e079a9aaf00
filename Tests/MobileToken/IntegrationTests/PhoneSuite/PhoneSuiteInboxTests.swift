import Foundation
import MobileTokenNotifications
import Testing

/// The demands of the phone SDKs' suites on the inbox and on push registration.
@Suite(.timeLimit(.minutes(5))) struct PhoneSuiteInboxTests {
    private func withInbox(_ body: (PhoneSuite, InboxService) async throws -> Void) async throws {
        try await PhoneSuite.run { suite in
            try await body(suite, InboxService(activation: try await suite.activate()))
        }
    }

    private func all(_ inbox: InboxService, onlyUnread: Bool = false) async throws -> [InboxMessage] {
        var messages: [InboxMessage] = []
        for try await message in inbox.messages(onlyUnread: onlyUnread) { messages.append(message) }
        return messages
    }

    private func expect(_ received: [InboxMessage], toBe created: [PhoneSuite.Message]) {
        #expect(received.count == created.count)
        for message in created {
            let match = received.first { $0.id == message.id }
            #expect(match?.subject == message.subject)
            #expect(match?.summary == message.summary)
            #expect(match?.isRead == message.read)
            #expect(match?.contentType.rawValue == message.type)
            let seconds = match?.created.timeIntervalSince1970.rounded(.down)
            #expect(seconds == message.timestamp.timeIntervalSince1970.rounded(.down))
        }
    }

    @Test func messagesAreCountedListedAndShown() async throws {
        try await self.withInbox { suite, inbox in
            #expect(try await inbox.unreadCount() == 0)
            let created = try await suite.createMessages(5)
            #expect(try await inbox.unreadCount() == 5)
            for onlyUnread in [true, false] {
                let page = try await inbox.list(page: 0, size: 50, onlyUnread: onlyUnread)
                self.expect(page.messages, toBe: created)
            }
            let detail = try await inbox.message(id: created[0].id)
            #expect(detail.body == created[0].body)
            #expect(!detail.isRead)
            self.expect([detail], toBe: [created[0]])
        }
    }

    @Test func manyMessagesComeInPages() async throws {
        try await self.withInbox { suite, inbox in
            let created = try await suite.createMessages(11, type: "html")
            var received: [InboxMessage] = []
            for page in 0..<4 {
                let messages = try await inbox.list(page: page, size: 5).messages
                #expect(messages.count == [5, 5, 1, 0][page])
                received += messages
            }
            self.expect(received, toBe: created)
            self.expect(try await self.all(inbox), toBe: created)
        }
    }

    @Test func aMessageIsMarkedRead() async throws {
        try await self.withInbox { suite, inbox in
            let created = try await suite.createMessages(4)
            let received = try await self.all(inbox)
            self.expect(received, toBe: created)
            let id = try #require(received.first?.id)
            try await inbox.markRead(id: id)
            #expect(try await inbox.message(id: id).isRead)
            let unread = try await self.all(inbox, onlyUnread: true)
            #expect(unread.count == 3)
            #expect(!unread.contains { $0.id == id })
            let afterwards = try await self.all(inbox)
            #expect(afterwards.count == 4)
            #expect(afterwards.first { $0.id == id }?.isRead == true)
        }
    }

    @Test func allMessagesAreMarkedRead() async throws {
        try await self.withInbox { suite, inbox in
            let created = try await suite.createMessages(4)
            self.expect(try await self.all(inbox), toBe: created)
            try await inbox.markAllRead()
            #expect(try await self.all(inbox, onlyUnread: true).isEmpty)
            #expect(try await self.all(inbox).count == 4)
        }
    }

    @Test func aPhoneIsRegisteredForPushMessages() async throws {
        try await PhoneSuite.run { suite in
            let push = PushService(activation: try await suite.activate())
            try await push.register(token: "74657374746f6b656e", for: .apns)
            try await push.register(token: "testtoken", for: .fcm)
            try await push.register(token: "testtoken", for: .hms)
        }
    }
}
