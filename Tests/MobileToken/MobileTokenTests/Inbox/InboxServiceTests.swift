import ExactJSON
import Foundation
import MobileToken
import MobileTokenNotifications
import PowerAuth
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct InboxServiceTests {
    private static func message(_ id: Int, body: String? = nil) -> JSONValue {
        [
            "id": .string("\(id)"), "type": "text", "subject": "Subject", "summary": "Summary", "read": false,
            "timestampCreated": "2023-11-14T22:13:20+0000", "body": body.map { .string($0) } ?? .null,
        ]
    }

    /// A server with messages numbered from 0, which hands out pages of them.
    private static func channel(messages: Range<Int>) -> ScriptedChannel {
        ScriptedChannel { request in
            #expect(request.path == "/api/inbox/message/list")
            let page = Int(request.json?["requestObject"]?["page"]?.int64 ?? -1)
            let size = Int(request.json?["requestObject"]?["size"]?.int64 ?? -1)
            return SampleAnswer.object(.array(messages.dropFirst(page * size).prefix(size).map { Self.message($0) }))
        }
    }

    @Test func everyCallSaysWhatItMeans() async throws {
        let channel = ScriptedChannel { request in
            #expect(request.acceptLanguage == "cs")
            guard case .token("possession_universal") = request.authentication else {
                Issue.record("the inbox is asked with the universal token")
                return []
            }
            switch request.path {
            case "/api/inbox/count":
                #expect(request.json == [:])
                return SampleAnswer.object(["countUnread": 3])
            case "/api/inbox/message/detail":
                #expect(request.json == ["requestObject": ["id": "7"]])
                return SampleAnswer.object(Self.message(7, body: "Body"))
            case "/api/inbox/message/list":
                #expect(request.json == ["requestObject": ["page": 2, "size": 10, "onlyUnread": true]])
                return SampleAnswer.object([Self.message(1)])
            case "/api/inbox/message/read":
                #expect(request.json == ["requestObject": ["id": "7"]])
                return SampleAnswer.ok
            case "/api/inbox/message/read-all":
                #expect(request.json == [:])
                return SampleAnswer.ok
            default: throw MobileTokenError(.serverError, "unexpected")
            }
        }
        let inbox = InboxService(activation: channel, acceptLanguage: try MobileTokenClient.AcceptLanguage("cs"))
        #expect(try await inbox.unreadCount() == 3)
        #expect(try await inbox.message(id: "7").body == "Body")
        #expect(try await inbox.list(page: 2, size: 10, onlyUnread: true).messages.map(\.id) == ["1"])
        try await inbox.markRead(id: "7")
        try await inbox.markAllRead()
        #expect(channel.requestCount == 5)
    }

    @Test(arguments: [(0, 1), (1, 1), (99, 1), (100, 2), (250, 3), (1_000, 10), (5_000, 10)])
    func messagesGoesThroughThePagesUpToItsLimit(count: Int, requests: Int) async throws {
        let channel = Self.channel(messages: 0..<count)
        var ids: [String] = []
        for try await message in InboxService(activation: channel).messages() { ids.append(message.id) }
        #expect(ids == (0..<min(count, 1_000)).map { "\($0)" })
        #expect(channel.requestCount == requests)
    }

    @Test func aPageIsFetchedWhenItIsNeeded() async throws {
        let channel = Self.channel(messages: 0..<250)
        var messages = InboxService(activation: channel).messages().makeAsyncIterator()
        #expect(channel.requestCount == 0)
        for _ in 0..<100 { _ = try await messages.next() }
        #expect(channel.requestCount == 1)
        _ = try await messages.next()
        #expect(channel.requestCount == 2)
    }

    @Test func aMessageThatArrivesMeanwhileRepeatsNone() async throws {
        let channel = Self.channel(messages: 0..<150)
        var messages = InboxService(activation: channel).messages().makeAsyncIterator()
        var ids: [String] = []
        for _ in 0..<100 { ids.append(try await messages.next()?.id ?? "") }
        channel.setRule { _ in SampleAnswer.object(.array((99..<150).map { Self.message($0) })) }
        while let message = try await messages.next() { ids.append(message.id) }
        #expect(ids == (0..<150).map { "\($0)" })
    }

    /// A server that hands out its unread messages, and on which messages can be marked as read.
    private static func markingChannel(messages: Range<Int>) -> ScriptedChannel {
        let unread = Mutex(Array(messages))
        return ScriptedChannel { request in
            let object = request.json?["requestObject"]
            guard request.path != "/api/inbox/message/read" else {
                unread.withLock { $0.removeAll { "\($0)" == object?["id"]?.string } }
                return SampleAnswer.ok
            }
            #expect(object?["onlyUnread"] == true)
            let start = Int(object?["page"]?.int64 ?? -1) * 100
            let page = unread.withLock { Array($0.dropFirst(start).prefix(100)) }
            return SampleAnswer.object(.array(page.map { Self.message($0) }))
        }
    }

    @Test(arguments: [1, 2, 150, 1_000])
    func messagesMarkedOnTheWayHideNoOthers(atOnce: Int) async throws {
        let inbox = InboxService(activation: Self.markingChannel(messages: 0..<250))
        var (ids, unmarked): ([String], [String]) = ([], [])
        for try await message in inbox.messages(onlyUnread: true) {
            ids.append(message.id)
            unmarked.append(message.id)
            guard unmarked.count == atOnce else { continue }
            for id in unmarked { try await inbox.markRead(id: id) }
            unmarked = []
        }
        #expect(ids == (0..<250).map { "\($0)" })
    }

    @Test func messagesThatCannotBeReadAreReportedAfterTheOthers() async throws {
        let channel = ScriptedChannel { request in
            let page = request.json?["requestObject"]?["page"]?.int64 ?? -1
            guard page == 0 else {
                return SampleAnswer.object([Self.message(200).with("subject", 5), Self.message(201)])
            }
            return SampleAnswer.object(
                .array((0..<100).map { Self.message($0).with("id", $0 == 3 ? nil : .string("\($0)")) })
            )
        }
        var messages = InboxService(activation: channel).messages().makeAsyncIterator()
        var ids: [String] = []
        let error = await #expect(throws: MobileTokenError.self) {
            while let message = try await messages.next() { ids.append(message.id) }
        }
        #expect(ids == (0..<100).filter { $0 != 3 }.map { "\($0)" } + ["201"])
        #expect(error?.code == .invalidResponse)
        #expect(error?.message.contains("2 messages") == true)
        #expect(error?.message.contains("responseObject[3].id") == true)
        #expect(try await messages.next() == nil)
    }

    @Test func aPageHasALimit() async throws {
        let channel = ScriptedChannel { _ in SampleAnswer.object(.array([JSONValue](repeating: 0, count: 1_001))) }
        let error = await #expect(throws: MobileTokenError.self) {
            try await InboxService(activation: channel).list(page: 0)
        }
        #expect(error?.code == .invalidResponse)
        channel.setRule { _ in SampleAnswer.object(.array([JSONValue](repeating: 0, count: 1_000))) }
        let page = try await InboxService(activation: channel).list(page: 0)
        #expect(page.issues.count == 100)
        #expect(page.omittedIssueCount == 900)
    }

    @Test func aFailedPageMayBeAskedForAgain() async throws {
        let channel = Self.channel(messages: 0..<3)
        var messages = InboxService(activation: channel).messages().makeAsyncIterator()
        channel.setRule { _ in throw MobileTokenError(.timeout, "slow") }
        await #expect(throws: MobileTokenError.self) { try await messages.next() }
        channel.setRule { _ in SampleAnswer.object([Self.message(0)]) }
        #expect(try await messages.next()?.id == "0")
        #expect(try await messages.next() == nil)
    }

    @Test(arguments: [(-1, 10), (0, 0), (0, 101)])
    func pagesThatNoServerHasAreRefusedHere(page: Int, size: Int) async {
        let channel = ScriptedChannel()
        let error = await #expect(throws: MobileTokenError.self) {
            try await InboxService(activation: channel).list(page: page, size: size)
        }
        #expect(error?.code == .invalidRequest)
        #expect(channel.requestCount == 0)
    }

    @Test func cancellingTheReaderTakesThePageOffTheWire() async {
        let channel = ScriptedChannel()
        let reader = Task { for try await _ in InboxService(activation: channel).messages() {} }
        _ = await channel.nextRequest()
        reader.cancel()
        await #expect(throws: CancellationError.self) { try await reader.value }
        await channel.waitForCancelled(1)
    }

    @Test func pagesLongerThanAskedForEndAtTheLimit() async throws {
        let channel = ScriptedChannel { request in
            let page = Int(request.json?["requestObject"]?["page"]?.int64 ?? -1)
            return SampleAnswer.object(.array((0..<300).map { Self.message(page * 300 + $0) }))
        }
        var count = 0
        for try await _ in InboxService(activation: channel).messages() { count += 1 }
        #expect(count == 1_000)
    }
}
