import CommandLineSupport
import ExactJSON
import MobileToken
import MobileTokenNotifications

/// Commands for the inbox and push messages.
enum InboxCommands {
    static let all = [list, show, read, readAll, registerPush]

    private static let id = Command.Operand("ID", "the message's identifier, as 'inbox list' shows it")

    static let list = Command(
        "inbox",
        "list",
        summary: "Show the messages of the inbox: the latest 1 000 at most.",
        options: [.init("unread", nil, "unread messages only")]
    ) { invocation in
        let session = try Session(invocation)
        var messages: [InboxMessage] = []
        var failure: MobileTokenError?
        do {
            for try await message in try await session.inbox().messages(onlyUnread: invocation.has("unread")) {
                messages.append(message)
            }
        } catch let error as MobileTokenError where error.code == .invalidResponse && !messages.isEmpty {
            failure = error  // messages that can be read are shown anyway
        }
        session.output.result(.array(messages.map(\.document)), text: messages.table)
        let limit = InboxService.messageLimit
        session.output.note(
            messages.count >= limit ? ListLimit(count: limit, text: "\(limit) messages are read at most") : nil
        )
        if let failure { throw failure }
        return .done
    }

    static let show = Command("inbox", "show", summary: "Show one message.", operands: [id]) { invocation in
        let session = try Session(invocation)
        let inbox = try await session.inbox()
        let id = try invocation.required(0)
        let message = try await session.finding("message \(id)") { try await inbox.message(id: id) }
        session.output.result(message.document, text: message.page)
        return .done
    }

    static let read = Command("inbox", "read", summary: "Mark a message as read.", operands: [id]) { invocation in
        let session = try Session(invocation)
        let id = try invocation.required(0)
        let inbox = try await session.inbox()
        try await session.finding("message \(id)") { try await inbox.markRead(id: id) }
        session.output.outcome(["read": .string(id)], text: "Marked \(TextTable.printable(id)) as read.")
        return .done
    }

    static let readAll = Command("inbox", "read-all", summary: "Mark all messages as read.") { invocation in
        let session = try Session(invocation)
        try await session.inbox().markAllRead()
        session.output.outcome(["readAll": true], text: "All messages are marked as read.")
        return .done
    }

    static let registerPush = Command(
        "push",
        "register",
        summary: "Register a device token for push messages.",
        operands: [.init("TOKEN", "the token of the push provider")],
        options: [
            .init("platform", "NAME", "apns, fcm or hms (default: fcm)"),
            .init("environment", "NAME", "development or production, with apns (default: the server decides)"),
        ]
    ) { invocation in
        let session = try Session(invocation)
        let name = invocation["platform"] ?? "fcm"
        let platforms = [PushService.Platform.apns, .fcm, .hms]
        guard let platform = platforms.first(where: { $0.description == name }) else {
            throw invocation.misuse("--platform takes apns, fcm or hms")
        }
        let environments = [PushService.Environment.development, .production]
        let environment = environments.first { $0.description == invocation["environment"] }
        guard environment != nil || invocation["environment"] == nil else {
            throw invocation.misuse("--environment takes development or production")
        }
        try await session.push().register(token: invocation.required(0), for: platform, environment: environment)
        session.output.outcome(["registered": .string(name)], text: "Registered with \(name).")
        return .done
    }
}
