package import APIDescriptions
import Basics
public import Foundation
import MobileTokenNotifications

// Actions of a device besides its decisions.
extension Emulator {
    /// The inbox of a virtual device.
    public struct DeviceInbox: Sendable, Codable, Hashable {
        /// The number of unread messages on all pages.
        public var unread: Int
        /// The newest 100, newest first.
        public var messages: [DeviceMessage]
    }

    /// An inbox message of a virtual device.
    public struct DeviceMessage: Sendable, Codable, Hashable, Identifiable {
        /// The message's identifier.
        public var id: String
        /// `text` or `html`.
        public var type: String
        /// The first line in a list.
        public var subject: String
        /// The second line in a list.
        public var summary: String?
        /// The full message; `nil` in a list.
        public var body: String?
        /// Indicates whether the message was marked as read.
        public var isRead: Bool
        /// The time of creation.
        public var created: Date
    }
}

extension Emulator.DeviceMessage: Described {
    package static let fields = FieldTable(
        "DeviceMessage",
        Self.init(id:type:subject:summary:body:isRead:created:),
        .required("id", \.id, .string),
        .required("type", \.type, .string),
        .required("subject", \.subject, .string),
        .optional("summary", \.summary, .string),
        .optional("body", \.body, .string, "The whole message; a list has none."),
        .required("read", \.isRead, .boolean),
        .required(
            "timestamp",
            \.created,
            Form<Int64>.timestamp.map {
                Date(milliseconds: $0)
            } from: {
                Int64(saturating: ($0.timeIntervalSince1970 * 1000).rounded())
            }
        )
    )

    init(_ message: InboxMessage) {
        let type =
            switch message.contentType {
            case .text: "text"
            case .html: "html"
            case .unknown(let name): name
            }
        self.init(
            id: message.id,
            type: type,
            subject: message.subject,
            summary: message.summary,
            body: message.body,
            isRead: message.isRead,
            created: message.created
        )
    }
}

extension Emulator.DeviceInbox: Described {
    package static let fields = FieldTable(
        "DeviceInbox",
        Self.init(unread:messages:),
        .required("unread", \.unread, .count, "On all pages."),
        .required("messages", \.messages, .list(of: .described), "The newest 100, newest first.")
    )
}

extension Emulator {
    /// Lets a virtual device claim an operation created for no user. The device's rule then decides it.
    ///
    /// - Returns: The device.
    /// - Throws: ``EmulatorError`` of code `notFound`, or `refused` with the reason.
    @discardableResult
    public func claim(
        _ operationID: OperationSummary.ID,
        byDevice id: VirtualDevice.ID
    ) async throws(EmulatorError) -> VirtualDevice { try await self.core.claim(operationID, by: id) }

    /// Lets a virtual device approve an operation without a network.
    ///
    /// - Parameters:
    ///   - content: The content of the operation's QR code.
    ///   - id: The device.
    /// - Returns: The code that its user types in.
    /// - Throws: ``EmulatorError`` of code `notFound`, or `refused` with the reason.
    public func offlineCode(
        for content: String,
        byDevice id: VirtualDevice.ID
    ) async throws(EmulatorError) -> String {
        try await self.core.letDevice(id) { try await $0.offlineCode(for: content) }
    }

    /// Returns the inbox of a virtual device.
    ///
    /// - Throws: ``EmulatorError`` of code `notFound`, or `refused` with the reason.
    public func inbox(ofDevice id: VirtualDevice.ID) async throws(EmulatorError) -> DeviceInbox {
        try await self.core.letDevice(id) { try await $0.inbox() }
    }

    /// Lets a virtual device show a message and mark it as read.
    ///
    /// - Throws: ``EmulatorError`` of code `notFound`, or `refused` with the reason.
    public func readMessage(
        _ messageID: MessageSummary.ID,
        byDevice id: VirtualDevice.ID
    ) async throws(EmulatorError) -> DeviceMessage {
        try await self.core.letDevice(id) { try await $0.readMessage(messageID) }
    }
}
