public import ExactJSON
public import Foundation
public import PowerAuthClient

extension MobileTokenData {
    /// Records a person's path through an operation's pre-approval screens, for ``MobileTokenData``.
    ///
    /// ```swift
    /// var recorder = MobileTokenData.PreApprovalRecorder(client)
    /// recorder.open("warning")
    /// recorder.close("warning", with: .continue)
    /// data.record(recorder)
    /// ```
    ///
    /// Timestamps are in the server's time, so a wrong local clock has no effect.
    public struct PreApprovalRecorder: MobileTokenData.Record {
        /// A person's action on a screen. A struct, so that apps may define their own.
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

        /// One display of a screen.
        public struct Visit: Sendable, Hashable {
            /// The screen's identifier.
            public let screen: String
            /// The time when the screen was shown, in the server's time.
            public let opened: Date
            /// The time when the person left, in the server's time; `nil` if the screen is still shown or was replaced.
            public fileprivate(set) var closed: Date?
            /// The person's action there.
            public fileprivate(set) var action: Action?
        }

        /// The visits in order.
        public private(set) var visits: [Visit] = []
        private let serverDate: @Sendable () -> Date

        /// Creates a recorder that uses a client's server time.
        ///
        /// Call `MobileTokenClient.synchronizeTime()` first if no request has measured the server's time yet.
        public init(_ client: MobileTokenClient) {
            self.init { client.serverDate }
        }

        /// Creates a recorder.
        ///
        /// - Parameter serverDate: Returns the server's current time.
        public init(serverDate: @escaping @Sendable () -> Date) {
            self.serverDate = serverDate
        }

        /// Records that a screen is shown, unless it already is. The previous screen, if not closed, keeps no action.
        public mutating func open(_ screen: String) {
            if let last = self.visits.last, last.closed == nil, last.screen == screen { return }
            self.visits.append(Visit(screen: screen, opened: self.serverDate()))
        }

        /// Records that the person left the current screen. Ignored for any other screen, or a second time.
        public mutating func close(_ screen: String, with action: Action) {
            guard let index = self.visits.indices.last, self.visits[index].screen == screen,
                self.visits[index].closed == nil
            else { return }
            self.visits[index].closed = self.serverDate()
            self.visits[index].action = action
        }

        /// Removes the visits, for another operation.
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
