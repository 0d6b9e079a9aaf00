import Basics
import ExactJSON
import Foundation
import MobileToken
import MobileTokenNotifications
import MobileTokenOffline
import MobileTokenScreens

let operationTargets = [
    FuzzTarget("operation-list") { input in
        let list = try readTwice { try OperationList(response: input) }
        let (first, comparison) = try OperationList.read(input)
        hold(Set(first.operations.map(\.id)).count == first.operations.count, "an identifier comes twice")
        hold(first.operations.count <= list.operations.count, "more operations than were sent")
        hold(comparison.match(input) != nil || first.currentTimestamp == nil, "a list that does not equal itself")
    },
    FuzzTarget("operation") { input in
        let operation = try readTwice { try UserOperation(parsing: input) }
        hold(try UserOperation(parsing: JSONValue(parsing: input).serialized()) == operation, "another operation")
    },
    // An operation around the fuzzer's attributes and screens.
    FuzzTarget("operation-parts") { input in
        var reader = InputReader(input)
        let attributes = reader.line()
        let json = """
            {"id":"1","name":"n","data":"d","status":"PENDING","operationCreated":"2023-11-14T22:13:20+0000",\
            "operationExpires":"2023-11-14T22:18:20+0000","allowedSignatureType":{"type":"2FA","variants":\
            ["possession_knowledge"]},"formData":{"title":"t","message":"m","attributes":\(attributes)},\
            "ui":\(Array(reader.rest).text)}
            """
        let operation = try readTwice { try UserOperation(parsing: Array(json.utf8)) }
        hold(operation.id == "1", "another identifier")
    },
    // The signed data, then an operation's attributes: a policy rests on their comparison.
    FuzzTarget("review") { input in
        var reader = InputReader(input)
        let data = JSONValue.string(reader.line()).serialized().text
        let json = """
            {"id":"1","name":"n","data":\(data),"status":"PENDING","operationCreated":"2023-11-14T22:13:20+0000",\
            "operationExpires":"2023-11-14T22:18:20+0000","allowedSignatureType":{"type":"2FA","variants":\
            ["possession_knowledge"]},"formData":{"title":"t","message":"m","attributes":\(Array(reader.rest).text)}}
            """
        let operation = try UserOperation(parsing: Array(json.utf8))
        let review = OperationReview(of: operation, activationID: "a")
        hold(OperationReview(of: operation, activationID: "a") == review, "two reviews differ")
        hold(review.isComplete == review.doubts.isEmpty, "complete in spite of doubts")
        for doubt in review.doubts { hold(!DisplayText.isUnsafe(in: doubt.description), "a line that deceives") }
        guard let total = review.total(in: "CZK") else { return }
        hold(total >= 0 && total.isFinite, "no sum: \(total)")
        hold(operation.issues.isEmpty, "a sum of what could not be read")
    },
    FuzzTarget("operation-callback") { input in
        guard let callback = OperationCallback(parsing: input) else { return }
        hold(OperationCallback(parsing: input) == callback, "two readings differ")
        hold((1...255).contains(callback.operationID.utf8.count), "no identifier")
        // Members that are not read may be anything, such as half a surrogate pair.
        guard case .one(let id)? = (try? JSONDocument(parsing: input))?.root.member("operationId") else {
            return hold(false, "no identifier in it")
        }
        hold(id.string == callback.operationID, "another operation")
    },
    // Lines of what a person did: a letter, then a screen. Stamps are of any server time.
    FuzzTarget("pre-approval") { input in
        var reader = InputReader(input)
        let stamp = Double(bitPattern: reader.bytes(8).reduce(0) { $0 << 8 | UInt64($1) })
        var recorder = MobileTokenData.PreApprovalRecorder { Date(timeIntervalSince1970: stamp) }
        while !reader.rest.isEmpty {
            let (isOpened, screen) = (reader.byte() & 1 == 0, reader.line())
            if isOpened { recorder.open(screen) } else { recorder.close(screen, with: .init(rawValue: screen)) }
        }
        var data = MobileTokenData()
        data.record(recorder)
        let again = try? JSONValue(parsing: JSONValue.object(data.members).serialized())
        hold(again == .object(data.members), "written and read again, it is another record")
        for visit in data["preApprovalScreens"]?.array ?? [] {
            let opened = visit["timestampOpened"]?.string
            hold(opened.flatMap(ISO8601.date(from:)) != nil, "no date: \(opened ?? "")")
        }
    },
    FuzzTarget("push") { input in
        guard let payload = PushPayload(parsing: input) else { return }
        hold(PushPayload(parsing: input) == payload, "two readings differ")
    },
    FuzzTarget("offline") { input in
        let operation = try OfflineOperation.Unverified(parsing: input).verified { _, _, _ in true }
        hold(try OfflineOperation.Unverified(parsing: input.text).verified { _, _, _ in true } == operation, "differs")
        hold(!operation.id.isEmpty, "no identifier")
        hold(operation.nonceBytes.count == 16, "no nonce")
    },
    FuzzTarget("proximity-code") { input in
        let text = input.text
        let read = ProximityCode(deepLink: text)
        hold(ProximityCode(deepLink: text) == read, "two readings differ")
        if let code = ProximityCode(qrCode: text) { hold(!code.operationID.isEmpty, "no operation") }
        if let read { hold(!read.operationID.isEmpty, "no operation") }
        if let url = URL(string: text) { _ = ProximityCode(deepLink: url) }
    },
    FuzzTarget("inbox") { input in
        _ = try? InboxMessage(response: input)
        if let count = try? InboxService.Page.unreadCount(response: input) { hold(count >= 0, "a negative number") }
        let page = try readTwice { try InboxService.Page(response: input) }
        hold(page.messages.count <= page.receivedCount, "more messages than were sent")
        var paging = InboxPaging()
        for _ in 0..<3 { paging.append(page) }
        var isOver = false
        while !isOver {
            switch paging.next() {
            case .message: break
            case .fetch, .fail, .end: isOver = true
            }
        }
    },
]

extension DisplayText {
    fileprivate static func isUnsafe(in text: String) -> Bool { text.unicodeScalars.contains(where: Self.isUnsafe) }
}
