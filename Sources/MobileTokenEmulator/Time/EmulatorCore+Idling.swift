package import APIDescriptions
import EmulatorBackend
public import Foundation

extension Emulator {
    /// Work that goes on beside requests: that of a virtual device, or a delivery to the bank.
    public struct PendingWork: Sendable, Codable, Hashable, CustomStringConvertible {
        /// The kinds of work beside requests.
        public enum Kind: String, Sendable, Codable, CaseIterable {
            /// A virtual device looks for operations, or decides one.
            case device
            /// A message goes to the bank.
            case delivery
        }

        /// The kind of work.
        public var kind: Kind
        /// The activation of the device, or the number of the delivery.
        public var id: String
        /// The operation that the device decides, `nil` while it looks for some; or the address of the delivery.
        public var subject: String?
        /// The time when it is due by the server's clock; `nil` for what is under way.
        public var due: Date?

        /// One line for a person.
        public var description: String {
            let work =
                self.kind == .device
                ? self.subject.map { "decides \($0)" } ?? "looks for operations" : "goes to \(self.subject ?? "")"
            return "\(self.kind.rawValue) \(self.id) \(work)"
        }
    }

    /// Waits until the server has nothing more to do: no virtual device has work that is due or under way, and neither has the
    /// bank a delivery.
    ///
    /// What waits for a later time by the server's clock, such as another attempt or a rule with a delay, does not count: move
    /// the clock to let it happen.
    ///
    /// ```swift
    /// try await emulator.cloud.createOperation("login", userID: "alice")
    /// try await emulator.settle()  // the device has decided, and the bank has been told
    /// ```
    ///
    /// - Returns: The work that waits for a later time.
    /// - Throws: ``EmulatorError`` of code `notSettled`, which names what still goes on.
    @discardableResult
    public func settle(within duration: Duration = .seconds(5)) async throws(EmulatorError) -> [PendingWork] {
        do { return try await self.core.waitUntilIdle(within: duration) } catch { throw EmulatorError(any: error) }
    }
}

extension Emulator.PendingWork: Described {
    package static let fields = FieldTable(
        "PendingWork",
        Self.init,
        .required("kind", \.kind, .cases()),
        .required("id", \.id, .string, "The activation of a device, or the number of a delivery."),
        .optional("subject", \.subject, .string, "The operation that is decided, or the address of a delivery."),
        .optional("due", \.due, .date)
    )
}

extension EmulatorCore {
    /// Waits until nothing is under way or due beside requests.
    ///
    /// - Parameter limit: The number of clients that may follow the server at a time.
    /// - Returns: The work that waits for a later time.
    func waitUntilIdle(
        within duration: Duration,
        unlessThereAre limit: Int = .max
    ) async throws -> [Emulator.PendingWork] {
        await self.settle()
        let isIdle = try await self.waiting(
            duration,
            for: [.virtualDevice, .delivery, .clock],
            unlessThereAre: limit
        ) {
            let isIdle = await self.isIdle
            return (isIdle, isIdle)
        }
        let now = self.now
        let pending = self.pendingWork
        let open = pending.filter { $0.due.map { $0 <= now } ?? true }
        guard isIdle || open.isEmpty else {
            let shown = open.prefix(10).map(\.description).joined(separator: ", ")
            let rest = open.count > 10 ? " and \(open.count - 10) more" : ""
            throw EmulatorError(.notSettled, "This still goes on: \(shown)\(rest)")
        }
        return pending.filter { $0.due.map { $0 > now } ?? false }
    }

    private var isIdle: Bool {
        let now = self.now.milliseconds
        return self.devices.roster.isIdle(at: now) && self.mailroom.outbox.isIdle(at: now)
    }

    /// Devices first, then deliveries, the oldest first.
    private var pendingWork: [Emulator.PendingWork] {
        let devices = self.devices.roster.newestFirst.reversed().flatMap { device in
            device.pending.map { work in
                Emulator.PendingWork(
                    kind: .device,
                    id: device.id,
                    subject: work.operationID,
                    due: work.due.map(Date.init(milliseconds:))
                )
            }
        }
        let deliveries = self.mailroom.outbox.newestFirst.reversed().filter(\.isOpen).map { delivery in
            Emulator.PendingWork(
                kind: .delivery,
                id: String(delivery.id),
                subject: delivery.message.url,
                due: delivery.due.map(Date.init(milliseconds:))
            )
        }
        return devices + deliveries
    }
}
