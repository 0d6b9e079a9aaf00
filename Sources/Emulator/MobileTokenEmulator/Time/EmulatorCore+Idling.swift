package import APIDescriptions
import EmulatorBackend
import EmulatorMessages
public import Foundation

extension Emulator {
    /// Background work: a virtual device's, a delivery to the bank, or a postponed request.
    public struct PendingWork: Sendable, Codable, Hashable, CustomStringConvertible {
        /// The kinds of background work.
        public enum Kind: String, Sendable, Codable, CaseIterable {
            /// A virtual device looks for operations, or decides one.
            case device
            /// A delivery to the bank.
            case delivery
            /// A request that a fault holds or delivers late.
            case request
        }

        /// The kind of work.
        public var kind: Kind
        /// The activation of the device, the number of the delivery, or the name of the fault rule.
        public var id: String
        /// The operation that the device decides (`nil` while it looks for some), the delivery's address, or the request's path.
        public var subject: String?
        /// The due time by the server's clock; `nil` for work in progress.
        public var due: Date?

        /// The work on one line.
        public var description: String {
            let work =
                switch self.kind {
                case .device: self.subject.map { "decides \($0)" } ?? "looks for operations"
                case .delivery, .request: "goes to \(self.subject ?? "")"
                }
            return "\(self.kind.rawValue) \(self.id) \(work)"
        }
    }

    /// Waits until the server is idle: no work of a virtual device and no delivery is due or in progress.
    ///
    /// Work due later by the server's clock, such as a retry or a delayed rule, does not count: move the clock to trigger it.
    ///
    /// ```swift
    /// try await emulator.cloud.createOperation("login", userID: "alice")
    /// try await emulator.settle()  // the device has decided, and the bank has been told
    /// ```
    ///
    /// - Returns: The work due later.
    /// - Throws: ``EmulatorError`` of code `notSettled`, which names the remaining work.
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
        .required("id", \.id, .string, "A device's activation, a delivery's number, or a fault rule's name."),
        .optional(
            "subject",
            \.subject,
            .string,
            "The operation that is decided, the address of a delivery, or the path of a request."
        ),
        .optional("due", \.due, .date)
    )
}

extension EmulatorCore {
    /// Waits until no background work is in progress or due.
    ///
    /// - Parameter limit: The maximum number of clients that follow the server.
    /// - Returns: The work due later.
    func waitUntilIdle(
        within duration: Duration,
        unlessThereAre limit: Int = .max
    ) async throws -> [Emulator.PendingWork] {
        await self.settle()
        let isIdle = try await self.waiting(
            duration,
            for: [.virtualDevice, .delivery, .clock, .faults],
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
        return self.devices.roster.isIdle(at: now) && self.callbackQueue.outbox.isIdle(at: now)
            && !self.postponed.elements.contains { $0.due <= now }
    }

    /// Devices first, then deliveries, then requests, each oldest first.
    private var pendingWork: [Emulator.PendingWork] {
        let devices = self.devices.roster.newestFirst.reversed().flatMap { device in
            device.pending.map { Emulator.PendingWork(.device, device.id, $0.operationID, due: $0.due) }
        }
        let deliveries = self.callbackQueue.outbox.newestFirst.reversed().filter(\.isOpen).map { delivery in
            Emulator.PendingWork(.delivery, String(delivery.id), delivery.message.url, due: delivery.due)
        }
        let requests = self.postponed.elements.map { element in
            let visit = element.visit
            return Emulator.PendingWork(.request, visit.fault?.name ?? "", visit.request.path, due: element.due)
        }
        return devices + deliveries + requests
    }
}

extension Emulator.PendingWork {
    fileprivate init(_ kind: Kind, _ id: String, _ subject: String?, due: Milliseconds?) {
        self.init(kind: kind, id: id, subject: subject, due: due.map(Date.init(milliseconds:)))
    }
}
