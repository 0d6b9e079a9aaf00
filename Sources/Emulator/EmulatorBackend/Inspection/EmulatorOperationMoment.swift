/// The kinds of events in an operation's history.
public enum EmulatorOperationMoment: String, Sendable, Codable, CaseIterable {
    /// The bank created it.
    case created
    /// A push message told a device of it, or of its end.
    case pushed
    /// A device listed it.
    case shown
    /// A device requested its details.
    case opened
    /// A user claimed it.
    case claimed
    /// The bank requested its offline code.
    case offlineCodeMade
    /// It was approved.
    case approved
    /// An approval was refused.
    case approvalRefused
    /// It was rejected.
    case rejected
    /// A rejection was refused.
    case rejectionRefused
    /// The bank canceled it.
    case canceled
    /// It expired.
    case expired
    /// The bank took a callback about it.
    case callbackDelivered
    /// The bank did not take one.
    case callbackFailed
}
