import Foundation
import MobileToken

extension UserOperation {
    /// The date around which the tests of this module live.
    static let sampleDate = Date(timeIntervalSince1970: 1_700_000_000)

    static func sample(_ id: String, name: String = "payment", expiresIn seconds: Double = 300) -> Self {
        UserOperation(id: id, name: name, expires: self.sampleDate + seconds)
    }
}

extension OperationListChange {
    var addedIDs: [String] { self.added.map(\.id) }
    var updatedIDs: [String] { self.updated.map(\.new.id) }
    var removedIDs: [String] { self.removed.map(\.operation.id) }
    var operationIDs: [String] { self.operations.map(\.id) }
}
