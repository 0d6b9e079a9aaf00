import Foundation
import MobileToken
package import MobileTokenReceipts

extension Invocation {
    /// Returns the exported receipts in the folder that an operand names, if it is given.
    ///
    /// - Throws: ``MobileTokenError`` if there is no such folder: a misspelled one would seem to have no receipts.
    package func archive(_ index: Int) throws -> ReceiptArchive? {
        guard let path = self.operand(index) else { return nil }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
            throw MobileTokenError(.storeUnreadable, "There is no folder \(path)")
        }
        return ReceiptArchive(folder: path)
    }
}
