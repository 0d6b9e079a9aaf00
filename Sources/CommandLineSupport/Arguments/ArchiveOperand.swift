import Foundation
import MobileToken
package import MobileTokenReceipts

extension Invocation {
    /// Returns the exported receipts in the folder that an operand names, if it was given.
    ///
    /// - Throws: ``MobileTokenError`` when there is no such folder: one that is misspelt would pass for one without receipts.
    package func archive(_ index: Int) throws -> ReceiptArchive? {
        guard let path = self.operand(index) else { return nil }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue else {
            throw MobileTokenError(.storeUnreadable, "There is no folder \(path)")
        }
        return ReceiptArchive(folder: path)
    }
}
