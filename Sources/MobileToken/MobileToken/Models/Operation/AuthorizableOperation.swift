public import ExactJSON
public import Foundation
import PowerAuthClient

/// An operation to authorize or reject, from the server or built by hand.
package protocol AuthorizableOperation: Sendable {
    /// The operation's identifier.
    var id: String { get }
    /// The data to sign, exactly as the server sent them.
    var data: String { get }
    /// The deadline for a decision, in the server's time; by default `Date.distantFuture`, which is none.
    var expires: Date { get }
    /// A one-time code to send with the authorization. None by default.
    var proximityCheck: UserOperation.ProximityCheck? { get }
    /// Data on the client for the server, sent with the decision. None by default.
    var mobileTokenData: JSONObject? { get }

    /// Returns whether these factors may authorize the operation. Called before anything is signed.
    func allows(_ authentication: Activation.Authentication) -> Bool
}

extension AuthorizableOperation {
    /// The distant future: by default an operation does not expire.
    package var expires: Date { .distantFuture }
    /// `nil`: by default there is no proximity check.
    package var proximityCheck: UserOperation.ProximityCheck? { nil }
    /// `nil`: by default no data are sent.
    package var mobileTokenData: JSONObject? { nil }

    /// Returns `true`: the operation's requirements are unknown, so the server decides.
    package func allows(_ authentication: Activation.Authentication) -> Bool { true }
}

/// An operation with identifier and data from another source than the list.
///
/// If it has an expiry, it is not signed after that.
public struct LocalOperation: AuthorizableOperation, Identifiable, Hashable {
    /// The operation's identifier.
    public var id: String
    /// The data to sign, exactly as the server sent them.
    public var data: String
    /// The deadline for a decision, in the server's time; `Date.distantFuture` if unknown, which leaves the check to the server.
    public var expires: Date
    /// A one-time code to send with the authorization.
    public var proximityCheck: UserOperation.ProximityCheck?
    /// Data on the client for the server, sent with the decision.
    public var mobileTokenData: JSONObject?

    /// Creates an operation.
    ///
    /// - Parameters:
    ///   - id: The operation's identifier.
    ///   - data: The data to sign, exactly as the server sent them.
    ///   - expires: The deadline, in the server's time; unknown by default.
    ///   - proximityCheck: A one-time code to send with the authorization.
    ///   - mobileTokenData: Data on the client for the server.
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
