import ExactJSON
public import Foundation
import PowerAuthProtocol

extension UserOperation {
    /// A one-time code that shows that the person is where the operation began, sent along with the authorization.
    public struct ProximityCheck: Sendable, Hashable, Codable {
        /// The way by which the code reached this side.
        public enum Source: String, Sendable, Hashable, Codable {
            /// Scanned.
            case qrCode = "QR_CODE"
            /// Followed.
            case deepLink = "DEEPLINK"
        }

        /// The clock that a moment was read from.
        public enum Clock: String, Sendable, Hashable, Codable {
            /// The local clock, which may be wrong.
            case local
            /// The server's.
            case server
        }

        /// The one-time code that was scanned or received.
        public let totp: String
        /// The way by which the code reached this side.
        public let source: Source
        /// The time at which it did, by ``clock``. What is sent is always in the server's time.
        public let received: Date
        /// The clock that ``received`` was read from. The local one is corrected when the decision is sent, by what is known then of
        /// the server's time.
        public let clock: Clock

        /// Creates a check of a code that reached this side just now, or at another moment by the local clock.
        ///
        /// - Parameters:
        ///   - totp: The one-time code.
        ///   - source: The way by which the code came to the user.
        ///   - localDate: The time at which it came, by the local clock: now by default.
        public init(totp: String, source: Source, localDate: Date = Date()) {
            self.init(totp, source, localDate, .local)
        }

        /// Creates a check of a code that reached this side at a moment of the server's time.
        ///
        /// - Parameters:
        ///   - totp: The one-time code.
        ///   - source: The way by which the code came to the user.
        ///   - received: The time at which it came, in the server's time.
        public init(totp: String, source: Source, received: Date) {
            self.init(totp, source, received, .server)
        }

        private init(_ totp: String, _ source: Source, _ received: Date, _ clock: Clock) {
            self.totp = totp
            self.source = source
            self.received = received
            self.clock = clock
        }

        private enum CodingKeys: String, CodingKey {
            case totp = "otp"
            case source = "type"
            case received = "timestampReceived"
            case clock
        }

        /// Reads a check that was coded; without a clock it is the server's.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            self.init(
                try container.decode(String.self, forKey: .totp),
                try container.decode(Source.self, forKey: .source),
                try container.decode(Date.self, forKey: .received),
                try container.decodeIfPresent(Clock.self, forKey: .clock) ?? .server
            )
        }
    }
}

extension UserOperation.ProximityCheck: CustomStringConvertible, CustomReflectable {
    /// The source and the date; the code stays private.
    public var description: String { "<proximity check, \(self.source.rawValue)>" }
    /// Nothing to look into.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension UserOperation.ProximityCheck {
    init(_ view: JSONView, _ log: IssueLog) throws(DecodingIssue) {
        self.totp = try view.required("otp", .string, log)
        self.source = try view.required("type", .known, log)
        self.received = try view.required("timestampReceived", .date, log)
        self.clock = try view.ifPresent("clock", .known, log) ?? .server
    }

    /// The members that are stored with an operation that is coded.
    var json: JSONObject {
        var members = self.json(received: self.received)
        if self.clock != .server { members["clock"] = .string(self.clock.rawValue) }
        return members
    }

    /// Returns what is sent.
    ///
    /// A local clock that was set since the code came may name a moment after the present, at which nothing can have come.
    func json(sent: Date, serverDate: (_ localDate: Date) -> Date) -> JSONObject {
        let received =
            switch self.clock {
            case .server: self.received
            case .local: min(serverDate(self.received), sent)
            }
        var members = self.json(received: received)
        members["timestampSent"] = .string(ISO8601.string(from: sent))
        return members
    }

    private func json(received: Date) -> JSONObject {
        [
            "otp": .string(self.totp), "type": .string(self.source.rawValue),
            "timestampReceived": .string(ISO8601.string(from: received)),
        ]
    }
}
