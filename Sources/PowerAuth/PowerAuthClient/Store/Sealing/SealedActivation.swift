import Basics

/// A stored activation: named values, with the secret ones sealed. A store keeps ``fields`` without knowing their meaning. It
/// must keep only the latest ones: returning old ones is a rollback.
package struct SealedActivation: Sendable, Equatable {
    package let activationID: String
    package let fields: [Field]

    package init(activationID: String, fields: [Field]) {
        self.activationID = activationID
        self.fields = fields.sorted { $0.name < $1.name }
    }

    package struct Field: Sendable, Equatable {
        /// The value's name, such as `counter` or `token:possession_universal`; unique within an activation.
        package let name: String
        /// Indicates that the bytes are sealed. Other values are not secret, but authenticated too.
        package let isSealed: Bool
        package let bytes: [UInt8]

        package init(name: String, isSealed: Bool, bytes: [UInt8]) {
            self.name = name
            self.isSealed = isSealed
            self.bytes = bytes
        }
    }

    /// The field that marks an upgrade in progress.
    package static let upgradeMark = Field(
        name: "pending-confirmation",
        isSealed: false,
        bytes: Array("upgrade".utf8)
    )

    /// The fields that a change has to write.
    package struct Changes: Sendable, Equatable {
        package let written: [Field]
        package let removed: [String]
    }

    package func applying(_ changes: Changes) -> Self {
        if let replaced = self.replacing(changes) { return replaced }
        let replaced = Set((changes.written.map(\.name) + changes.removed).map { ExactString($0) })
        let kept = self.fields.filter { !replaced.contains(ExactString($0.name)) }
        return Self(activationID: self.activationID, fields: kept + changes.written)
    }

    /// Returns the activation after a change that neither adds nor removes a field, as that of each signature; `nil` after another one.
    private func replacing(_ changes: Changes) -> Self? {
        guard changes.removed.isEmpty else { return nil }
        var fields = self.fields
        for field in changes.written {
            guard let index = fields.firstIndex(where: { $0.name.isExactly(field.name) }) else { return nil }
            fields[index] = field
        }
        return Self(activationID: self.activationID, inOrder: fields)
    }

    private init(activationID: String, inOrder fields: [Field]) {
        self.activationID = activationID
        self.fields = fields
    }
}
