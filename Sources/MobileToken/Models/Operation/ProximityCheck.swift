import ExactJSON
public import Foundation
import PowerAuthProtocol

/// A one-time code that shows that the person is where the operation began, sent along with the authorization.
public struct ProximityCheck: Sendable, Hashable, Codable {
    /// How the code reached this side.
    public enum Source: String, Sendable, Hashable, Codable {
        /// Scanned.
        case qrCode = "QR_CODE"
        /// Followed.
        case deepLink = "DEEPLINK"
    }

    /// The code.
    public let totp: String
    /// How the code reached this side.
    public let source: Source
    /// When it did, in the server's time.
    public let received: Date

    /// Creates a check.
    ///
    /// - Parameters:
    ///   - totp: The one-time code.
    ///   - source: How the code came to the user.
    ///   - received: In the server's time, such as `OperationsService.currentServerDate`; by default the local date.
    public init(totp: String, source: Source, received: Date = Date()) {
        self.totp = totp
        self.source = source
        self.received = received
    }

    private enum CodingKeys: String, CodingKey {
        case totp = "otp"
        case source = "type"
        case received = "timestampReceived"
    }
}

extension ProximityCheck: CustomStringConvertible, CustomReflectable {
    /// The source and the date; the code stays private.
    public var description: String { "<proximity check, \(self.source.rawValue)>" }
    /// Nothing to look into.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension ProximityCheck {
    init(_ view: JSONView, _ log: IssueLog) throws(DecodingIssue) {
        self.totp = try view.required("otp", .string, log)
        self.source = try view.required("type", .known, log)
        self.received = try view.required("timestampReceived", .date, log)
    }

    var json: JSONObject {
        [
            "otp": .string(self.totp), "type": .string(self.source.rawValue),
            "timestampReceived": .string(ISO8601.string(from: self.received)),
        ]
    }
}
