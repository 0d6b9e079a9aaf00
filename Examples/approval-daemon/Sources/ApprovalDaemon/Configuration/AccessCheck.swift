import Glibc
import MobileToken

extension DaemonConfiguration {
    /// Checks that the user of this process may use the store, its sealing key and the folder of receipts.
    ///
    /// The kernel is asked, and nothing is opened or made: what root made in passing, the daemon's user could not open.
    ///
    /// - Throws: ``ConfigurationError`` for the setting that names what cannot be used.
    public func checkAccess() throws {
        try Self.check(self.store.path, R_OK | W_OK, "store.path")
        try Self.check(Self.folder(of: self.store.path), R_OK | W_OK | X_OK, "store.path")
        if let keyFile = self.store.sealingKeyFile { try Self.check(keyFile, R_OK, "store.sealingKey") }
        if let folder = self.receipts.folder { try Self.check(folder, R_OK | W_OK | X_OK, "receipts.folder") }
    }

    /// Checks a file, or the nearest folder above one that is yet to be made.
    private static func check(_ path: String, _ mode: Int32, _ setting: String) throws {
        guard faccessat(AT_FDCWD, path, mode, AT_EACCESS) != 0 else { return }
        let (reason, parent) = (errno, Self.folder(of: path))
        guard reason != ENOENT || parent == path else { return try self.check(parent, W_OK | X_OK, setting) }
        throw ConfigurationError(setting, "\(path) cannot be used: \(String(cString: strerror(reason)))")
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

extension DaemonConfiguration.Store {
    /// The file of the sealing key; `nil` when the key comes from elsewhere.
    fileprivate var sealingKeyFile: String? {
        switch self.sealingKey {
        case nil: self.path + ".key"
        case .file(let path)?: path
        case .environment?, .command?: nil
        }
    }
}
