public import Foundation
public import PowerAuth
import PowerAuthProtocol

/// An operation that can be authorized or rejected: one from the server, or one built by hand.
public protocol AuthorizableOperation: Sendable {
    /// The operation's identifier.
    var id: String { get }
    /// The data that are signed, exactly as the server made them.
    var data: String { get }
    /// Until when it can be decided, in the server's time. Without an end by default, which is `Date.distantFuture`.
    var expires: Date { get }
    /// A one-time code to send along. None by default.
    var proximityCheck: UserOperation.ProximityCheck? { get }
    /// Anything the server side wants to know of the client, sent along with the decision. Nothing by default.
    var mobileTokenData: JSONObject? { get }

    /// Returns whether the operation may be authorized with these factors. Asked before anything is signed.
    func allows(_ authentication: Authentication) -> Bool
}

extension AuthorizableOperation {
    /// The distant future: by default an operation does not expire.
    public var expires: Date { .distantFuture }
    /// `nil`: by default there is no proximity check.
    public var proximityCheck: UserOperation.ProximityCheck? { nil }
    /// `nil`: by default no data for the server are added.
    public var mobileTokenData: JSONObject? { nil }

    /// Returns `true`: nothing is known of the operation's demands, so the server decides.
    public func allows(_ authentication: Authentication) -> Bool { true }
}

/// An operation of which identifier and data are known by other means than the list.
///
/// With an expiry it is not signed any more when its time is over, and an ``ExpirationWatcher`` reports it.
public struct LocalOperation: AuthorizableOperation, Expirable, Hashable, Codable {
    /// The operation's identifier.
    public var id: String
    /// The data that are signed, exactly as the server made them.
    public var data: String
    /// Until when it can be decided, in the server's time; `Date.distantFuture` where that is not known, which is then the
    /// server's to judge.
    public var expires: Date
    /// A one-time code to send along.
    public var proximityCheck: UserOperation.ProximityCheck?
    /// Anything the server side wants to know of the client, sent along with the decision.
    public var mobileTokenData: JSONObject?

    /// Creates an operation.
    ///
    /// - Parameters:
    ///   - id: The operation's identifier.
    ///   - data: The data that is signed, exactly as the server made it.
    ///   - expires: The time at which the operation expires, by the server's clock. By default that is not known.
    ///   - proximityCheck: A one-time code to send along.
    ///   - mobileTokenData: Anything the server side wants to know of the client.
    public init(
        id: String,
        data: String,
        expires: Date = .distantFuture,
        proximityCheck: UserOperation.ProximityCheck? = nil,
        mobileTokenData: JSONObject? = nil
    ) {
        self.id = id
        self.data = data
        self.expires = expires
        self.proximityCheck = proximityCheck
        self.mobileTokenData = mobileTokenData
    }
}
