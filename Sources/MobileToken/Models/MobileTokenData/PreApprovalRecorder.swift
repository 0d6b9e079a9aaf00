import ExactJSON
public import Foundation
public import PowerAuth
import PowerAuthProtocol

extension MobileTokenData {
    /// Records how a person goes through the pre-approval screens of an operation, for ``MobileTokenData``.
    ///
    /// ```swift
    /// var recorder = MobileTokenData.PreApprovalRecorder(client)
    /// recorder.open("warning")
    /// recorder.close("warning", with: .continue)
    /// data.record(recorder)
    /// ```
    ///
    /// The stamps are in the server's time, so that a clock that is wrong does not matter.
    public struct PreApprovalRecorder: MobileTokenData.Record {
        /// An action of a person on a screen. A struct, so that an app may have actions of its own.
        public struct Action: RawRepresentable, Sendable, Hashable {
            /// The name that is sent.
            public let rawValue: String

            /// Creates an action from its name.
            public init(rawValue: String) { self.rawValue = rawValue }

            /// The person continued to the next screen, or to the decision.
            public static let `continue` = Self(rawValue: "CONTINUE")
            /// The person went back to the previous screen.
            public static let back = Self(rawValue: "BACK")
            /// The person closed the screen.
            public static let close = Self(rawValue: "CLOSE")
            /// The person rejected the operation.
            public static let reject = Self(rawValue: "REJECT")
            /// The person scanned a code.
            public static let scan = Self(rawValue: "SCAN")
        }

        /// One time that a screen was shown.
        public struct Visit: Sendable, Hashable {
            /// The screen's identifier.
            public let screen: String
            /// The time when it was shown, in the server's time.
            public let opened: Date
            /// The time when it was left, in the server's time; `nil` when the person was led elsewhere, or is still there.
            public fileprivate(set) var closed: Date?
            /// The person's action there.
            public fileprivate(set) var action: Action?
        }

        /// The visits so far, in their order.
        public private(set) var visits: [Visit] = []
        private let serverDate: @Sendable () -> Date

        /// Creates a recorder with a client's server time.
        ///
        /// Ask for the time before, with ``MobileTokenClient/synchronizeTime()``, if no request has done so yet.
        public init(_ client: MobileTokenClient) {
            self.init { client.serverDate }
        }

        /// Creates a recorder.
        ///
        /// - Parameter serverDate: Returns the present in the server's time.
        public init(serverDate: @escaping @Sendable () -> Date) {
            self.serverDate = serverDate
        }

        /// Records that a screen is shown, unless it is shown already. One that was shown before is left as it is, without an
        /// action.
        public mutating func open(_ screen: String) {
            if let last = self.visits.last, last.closed == nil, last.screen == screen { return }
            self.visits.append(Visit(screen: screen, opened: self.serverDate()))
        }

        /// Records that the screen that is shown is left. Does nothing for another one, or when it was left before.
        public mutating func close(_ screen: String, with action: Action) {
            guard let index = self.visits.indices.last, self.visits[index].screen == screen,
                self.visits[index].closed == nil
            else { return }
            self.visits[index].closed = self.serverDate()
            self.visits[index].action = action
        }

        /// Forgets what was recorded, for another operation.
        public mutating func removeAll() { self.visits = [] }

        /// The name that the phone SDKs use.
        public var name: String { "preApprovalScreens" }

        /// A list of the visits.
        public var json: JSONValue { .array(self.visits.map { .object($0.json) }) }
    }
}

extension MobileTokenData.PreApprovalRecorder.Visit {
    fileprivate var json: JSONObject {
        var object: JSONObject = [
            "screen": .string(self.screen), "timestampOpened": .string(ISO8601.preciseString(from: self.opened)),
        ]
        object["timestampClosed"] = self.closed.map { .string(ISO8601.preciseString(from: $0)) }
        object["action"] = self.action.map { .string($0.rawValue) }
        return object
    }
}
