/// The kinds of what happens to an operation.
public enum EmulatorOperationMoment: String, Sendable, Codable, CaseIterable {
    /// The bank made it.
    case created
    /// A device had it in a list.
    case shown
    /// A device asked for its details.
    case opened
    /// A user made it their own.
    case claimed
    /// The bank asked for its offline code.
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
}
