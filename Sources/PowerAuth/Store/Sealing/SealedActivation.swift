import Basics
import PowerAuthProtocol

/// An activation in the form in which it is kept: named values, the secret ones among them sealed.
///
/// A store writes ``fields`` wherever it likes and gives them back as they were. It need not know what they mean, and
/// never sees a secret. Only the fields of the latest state may be kept: an old one that comes back is a rollback.
package struct SealedActivation: Sendable, Equatable {
    /// The server's identifier of the activation.
    package let activationID: String
    /// The values, in the order of their names.
    package let fields: [Field]

    /// Puts together an activation from what a store kept.
    package init(activationID: String, fields: [Field]) {
        self.activationID = activationID
        self.fields = fields.sorted { $0.name < $1.name }
    }

    /// One value of an activation.
    package struct Field: Sendable, Equatable {
        /// The name of the value, such as `counter` or `token:possession_universal`: unique within an activation.
        package let name: String
        /// Indicates that the bytes are sealed. Those that are not hold nothing secret, and are authenticated all the same.
        package let isSealed: Bool
        /// The bytes to keep.
        package let bytes: [UInt8]

        /// Puts together a field from what a store kept.
        package init(name: String, isSealed: Bool, bytes: [UInt8]) {
            self.name = name
            self.isSealed = isSealed
            self.bytes = bytes
        }
    }

    /// The field of an activation that is being upgraded to another version of the protocol, and of no other.
    package static let upgradeMark = Field(
        name: "pending-confirmation",
        isSealed: false,
        bytes: Array("upgrade".utf8)
    )

    /// The fields that a change of an activation leaves to be written.
    package struct Changes: Sendable, Equatable {
        /// Fields to write, over those of the same names.
        package let written: [Field]
        /// The names of fields to delete.
        package let removed: [String]
    }

    /// Returns the activation after a change.
    package func applying(_ changes: Changes) -> Self {
        let replaced = Set((changes.written.map(\.name) + changes.removed).map { ExactString($0) })
        let kept = self.fields.filter { !replaced.contains(ExactString($0.name)) }
        return Self(activationID: self.activationID, fields: kept + changes.written)
    }
}
