import ExactJSON
import Foundation
import MobileToken
import MobileTokenNotifications
import PowerAuth
import Testing

@Suite struct InboxMessageTests {
    @Test func readsAMessageWithItsBody() throws {
        let message = try InboxMessage(response: ServerJSON.object(ServerJSON.message))
        #expect(
            message
                == InboxMessage(
                    id: "7d9fe8f2",
                    contentType: .html,
                    subject: "Welcome",
                    summary: "You are in",
                    body: "<p>You are in</p>",
                    isRead: false,
                    created: Date(timeIntervalSince1970: 1_661_466_898.702)
                )
        )
        #expect(throws: MobileTokenError.self) {
            try InboxMessage(response: ServerJSON.object(ServerJSON.message.with("body", nil)))
        }
    }

    @Test func readsAPageAndReportsWhatItCannotRead() throws {
        let messages = (0..<5).map { ServerJSON.message.with("id", .string("\($0)")).with("body", nil) }
        let broken = messages[2].with("timestampCreated", 1_661_466_898_702)
        let page = try InboxService.Page(
            response: ServerJSON.list([messages[0], broken, nil, messages[3]], timestamp: nil)
        )
        #expect(page.messages.map(\.id) == ["0", "3"])
        #expect(page.messages.allSatisfy { $0.body == nil })
        #expect(page.issues.map(\.path) == ["responseObject[1].timestampCreated", "responseObject[2]"])
        #expect(page.receivedCount == 4)
        #expect(throws: MobileTokenError.self) { try InboxService.Page(response: ServerJSON.object([:])) }
    }

    @Test(arguments: ["id", "subject", "read", "timestampCreated"])
    func aMessageNeedsItsParts(name: String) throws {
        for json in [ServerJSON.message.with(name, nil), ServerJSON.message.with(name, [:])] {
            #expect(try InboxService.Page(response: ServerJSON.list([json])).messages.isEmpty)
        }
    }

    @Test(
        arguments: [
            (nil, InboxMessage.ContentType.text, 0), ("text", .text, 0), ("html", .html, 0),
            ("markdown", .unknown("markdown"), 0), (5, .text, 1),
        ] as [(JSONValue?, InboxMessage.ContentType, Int)]
    )
    func theTypeMayBeMissingOrUnknown(value: JSONValue?, type: InboxMessage.ContentType, issues: Int) throws {
        let page = try InboxService.Page(response: ServerJSON.list([ServerJSON.message.with("type", value)]))
        #expect(page.messages.map(\.contentType) == [type])
        #expect(page.issues.count == issues)
    }

    @Test func readsTheCount() throws {
        #expect(try InboxService.Page.unreadCount(response: ServerJSON.object(["countUnread": 13])) == 13)
        for object: JSONValue in [[:], ["countUnread": "13"], ["countUnread": -1], ["countUnread": 1.5], []] {
            #expect(throws: MobileTokenError.self) {
                try InboxService.Page.unreadCount(response: ServerJSON.object(object))
            }
        }
    }

    @Test func isCodable() throws {
        let message = try InboxMessage(response: ServerJSON.object(ServerJSON.message))
        #expect(try JSONDecoder().decode(InboxMessage.self, from: JSONEncoder().encode(message)) == message)
    }
}
