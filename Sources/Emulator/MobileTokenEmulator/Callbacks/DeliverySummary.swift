import EmulatorBackend
public import Foundation

extension Emulator {
    /// A message to the bank: a callback and its delivery.
    public struct DeliverySummary: Sendable, Codable, Hashable, Identifiable {
        /// The state of a delivery.
        public enum State: String, Sendable, Codable, CaseIterable {
            /// Waiting for the first or the next attempt.
            case waiting
            /// An attempt is in progress.
            case underWay
            /// The bank accepted it.
            case delivered
            /// No attempt is left.
            case failed
        }

        /// The delivery's number, from 1.
        public var id: UInt64
        /// The callback's identifier; `nil` for an address supplied with an operation.
        public var callbackID: String?
        /// The callback's name.
        public var callbackName: String?
        /// The target address.
        public var url: String
        /// The JSON body.
        public var body: String
        /// The state of the delivery.
        public var state: State
        /// The number of completed attempts.
        public var attempts: Int
        /// The HTTP status of the last response.
        public var status: Int?
        /// The reason the last attempt got no response, or was not made.
        public var failure: String?
        /// The time of creation.
        public var created: Date
        /// The time of the next attempt, while it waits.
        public var due: Date?
    }
}

extension Emulator.DeliverySummary {
    init(_ delivery: Outbox.Delivery) {
        self.id = delivery.id
        self.callbackID = delivery.message.callbackID
        self.callbackName = delivery.message.callbackName
        self.url = delivery.message.url
        self.body = String(decoding: delivery.message.body, as: UTF8.self)
        self.state = delivery.state
        self.attempts = delivery.attempts
        self.created = Date(milliseconds: delivery.created)
        self.due = delivery.due.map(Date.init(milliseconds:))
        self.failure = delivery.outcome?.failure
        if case .response(let status) = delivery.outcome { self.status = status }
    }
}
