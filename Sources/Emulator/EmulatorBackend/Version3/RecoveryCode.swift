/// A recovery code with its single PUK.
package struct RecoveryCode: Sendable, Codable, Equatable {
    enum Status: String, Sendable, Codable {
        case created = "CREATED"
        case active = "ACTIVE"
        case blocked = "BLOCKED"
        case used = "USED"
    }

    static let maximumFailures = 5

    package let code: String
    package let puk: String
    let userID: String
    let applicationID: String
    /// The activation that received it.
    let activationID: String
    var status: Status
    var failures = 0
}
