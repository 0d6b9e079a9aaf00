import ExactJSON
public import Foundation

extension UserOperation {
    /// A one-time code, sent with the authorization, that proves the person is where the operation began.
    public struct ProximityCheck: Sendable, Hashable {
        /// The source of the code.
        public enum Source: String, Sendable, Hashable {
            /// A scanned QR code.
            case qrCode = "QR_CODE"
            /// A deep link.
            case deepLink = "DEEPLINK"
        }

        /// The clock of a timestamp.
        package enum Clock: String, Sendable, Hashable {
            /// The local clock, which may be wrong.
            case local
            /// The server's clock.
            case server
        }

        /// The one-time code.
        public let totp: String
        /// The source of the code.
        public let source: Source
        /// The time of receipt, by the local clock or the server's. The request always has the server's time.
        package let received: Date
        /// The clock of ``received``. A local time is converted, when the decision is sent, by the server's time known then.
        package let clock: Clock

        /// Creates a check of a code received now, or at another time of the local clock.
        ///
        /// - Parameters:
        ///   - totp: The one-time code.
        ///   - source: The source of the code.
        ///   - localDate: The time of receipt, by the local clock: now by default.
        public init(totp: String, source: Source, localDate: Date = Date()) {
            self.init(totp, source, localDate, .local)
        }

        /// Creates a check of a code received at a time of the server's clock.
        ///
        /// - Parameters:
        ///   - totp: The one-time code.
        ///   - source: The source of the code.
        ///   - received: The time of receipt, in the server's time.
        package init(totp: String, source: Source, received: Date) {
            self.init(totp, source, received, .server)
        }

        private init(_ totp: String, _ source: Source, _ received: Date, _ clock: Clock) {
            self.totp = totp
            self.source = source
            self.received = received
            self.clock = clock
        }
    }
}

extension UserOperation.ProximityCheck: CustomStringConvertible {
    /// The source; the code stays private.
    public var description: String { "<proximity check, \(self.source.rawValue)>" }
}

extension UserOperation.ProximityCheck {
    init(_ view: JSONView, _ log: IssueLog) throws(DecodingIssue) {
        self.totp = try view.required("otp", .string, log)
        self.source = try view.required("type", .known, log)
        self.received = try view.required("timestampReceived", .date, log)
        self.clock = try view.ifPresent("clock", .known, log) ?? .server
    }

    /// The members stored with an encoded operation.
    var json: JSONObject {
        var members = self.json(received: self.received)
        if self.clock != .server { members["clock"] = .string(self.clock.rawValue) }
        return members
    }

    /// Returns the members to send.
    ///
    /// If the local clock was set back since, the receipt may lie in the future; it is then limited to the present.
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
