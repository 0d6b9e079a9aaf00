import Foundation
import PowerAuth
import Synchronization

/// The nodes' mark files, reused by successive worlds, because a dead process's files stay open.
final class MarkFiles: Sendable {
    private static let made = Counter()
    private let folder: String
    private let files = Mutex<[Int: LockFile]>([:])

    /// - Parameter name: Distinguishes the files of different threads.
    init(name: String) {
        self.folder = NSTemporaryDirectory() + "simulate-\(getpid())-\(name)-\(Self.made.count)"
        Self.made.add()
    }

    deinit { try? FileManager.default.removeItem(atPath: self.folder) }

    /// Returns the marks of a node, emptied.
    func emptied(_ node: Int) throws -> HighWaterMarks {
        let path = "\(self.folder)/\(node)"
        let file = try self.files.withLock { files in
            let file = try files[node] ?? LockFile(creating: path)
            files[node] = file
            return file
        }
        truncate(path, 0)
        return HighWaterMarks(in: file)
    }
}
