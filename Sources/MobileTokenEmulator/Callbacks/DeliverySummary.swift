import EmulatorBackend
public import Foundation

extension Emulator {
    /// One message to the bank: a callback, and what became of it.
    public struct DeliverySummary: Sendable, Codable, Hashable, Identifiable {
        /// The state of a delivery.
        public enum State: String, Sendable, Codable, CaseIterable {
            /// It waits for its first attempt, or for the next.
            case waiting
            /// An attempt is being made.
            case underWay
            /// The bank took it.
            case delivered
            /// No attempt is left.
            case failed
        }

        /// Its number, from 1.
        public var id: UInt64
        /// The callback it is of; `nil` for the address that an operation brought along.
        public var callbackID: String?
        /// The address it goes to.
        public var url: String
        /// The body that is sent, JSON.
        public var body: String
        /// The state of the delivery.
        public var state: State
        /// The number of attempts that have ended.
        public var attempts: Int
        /// The HTTP status of the last response.
        public var status: Int?
        /// The reason the last attempt had no response, or why there was none.
        public var failure: String?
        /// The time when it was made.
        public var created: Date
        /// The time when it is tried next, while it waits.
        public var due: Date?
    }
}

extension Emulator.DeliverySummary {
    init(_ delivery: Outbox.Delivery) {
        self.id = delivery.id
        self.callbackID = delivery.message.callbackID
        self.url = delivery.message.url
        self.body = String(decoding: delivery.message.body, as: UTF8.self)
        self.state = delivery.state
        self.attempts = delivery.attempts
        self.created = Date(milliseconds: delivery.created)
        self.due = delivery.due.map(Date.init(milliseconds:))
        switch delivery.outcome {
        case .response(let status): self.status = status
        case .noResponse(let reason): self.failure = reason
        case nil: break
        }
    }
}
