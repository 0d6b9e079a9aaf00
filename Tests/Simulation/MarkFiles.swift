import Foundation
import PowerAuth

/// The files of marks, one for each node, which worlds use one after the other: what a dead process has open stays open.
final class MarkFiles {
    private static let made = Counter()
    private let folder: String
    private var files: [Int: LockFile] = [:]

    /// - Parameter name: Tells the files of a thread from those of others.
    init(name: String) {
        self.folder = NSTemporaryDirectory() + "simulate-\(getpid())-\(name)-\(Self.made.count)"
        Self.made.add()
    }

    deinit { try? FileManager.default.removeItem(atPath: self.folder) }

    /// Returns the marks of a node, of which there are none.
    func emptied(_ node: Int) throws -> HighWaterMarks {
        let path = "\(self.folder)/\(node)"
        let file = try self.files[node] ?? LockFile(creating: path)
        self.files[node] = file
        truncate(path, 0)
        return HighWaterMarks(in: file)
    }
}
