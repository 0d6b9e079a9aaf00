import CSQLite
import Glibc
import Synchronization

/// A SQLite file system that passes everything on to the usual one, and records what would reach the disk.
///
/// Each file keeps the state that the usual VFS gave it; only its table of methods is replaced by one that records
/// writes, truncations and synchronisations before it passes them on.
final class RecordingVFS: Sendable {
    enum Event: Sendable {
        case write(path: String, offset: Int, bytes: [UInt8])
        case truncate(path: String, count: Int)
        case synchronize(path: String)
        case delete(path: String)
        /// Not of the file system: the test notes here what a caller was told is durable.
        case note(UInt64)
    }

    /// The call that fails from now on, with SQLite's code for it.
    enum Fault: Sendable {
        case writing(Int32)
        case synchronizing(Int32)
    }

    /// The name to open databases with. One VFS is registered for the life of the process.
    static let name = "recording"

    private struct State {
        var isRegistered = false
        /// By the address of a file: its path and the methods it had.
        var files: [UInt: File] = [:]
        var events: [String: [Event]] = [:]
        var faults: [String: Fault] = [:]
    }

    private struct File {
        let path: String
        let methodsAddress: UInt

        /// A constant table of SQLite's.
        var methods: sqlite3_io_methods? {
            UnsafePointer<sqlite3_io_methods>(bitPattern: self.methodsAddress)?.pointee
        }
    }

    private static let state = Mutex(State())

    /// Registers the VFS once, and starts a record of the files whose path begins so.
    static func record(_ prefix: String) {
        Self.state.withLock { state in
            state.events[prefix] = []
            guard !state.isRegistered, let usual = sqlite3_vfs_find(nil) else { return }
            state.isRegistered = true
            // Never freed: SQLite keeps what was registered.
            let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
            vfs.initialize(to: usual.pointee)
            vfs.pointee.zName = UnsafePointer(Self.name.withCString { strdup($0) })
            vfs.pointee.pNext = nil
            vfs.pointee.xOpen = { vfs, path, file, flags, outFlags in
                guard let usual = sqlite3_vfs_find("unix"), let file else { return SQLITE_CANTOPEN }
                let status = usual.pointee.xOpen(usual, path, file, flags, outFlags)
                if status == SQLITE_OK, let path { RecordingVFS.adopt(file, path: String(cString: path)) }
                return status
            }
            vfs.pointee.xDelete = { _, path, synchronizesFolder in
                guard let usual = sqlite3_vfs_find("unix"), let path else { return SQLITE_IOERR }
                RecordingVFS.append(.delete(path: String(cString: path)), path: String(cString: path))
                return usual.pointee.xDelete(usual, path, synchronizesFolder)
            }
            sqlite3_vfs_register(vfs, 0)
        }
    }

    static func events(of prefix: String) -> [Event] { Self.state.withLock { $0.events[prefix] ?? [] } }

    /// Notes that a caller was told something.
    static func note(_ value: UInt64, for prefix: String) {
        Self.state.withLock { $0.events[prefix]?.append(.note(value)) }
    }

    /// Lets the files whose path begins so fail, or work again.
    static func setFault(_ fault: Fault?, for prefix: String) {
        Self.state.withLock { $0.faults[prefix] = fault }
    }

    private static func fault(of path: String) -> Fault? {
        Self.state.withLock { $0.faults.first { path.hasPrefix($0.key) }?.value }
    }

    private static func append(_ event: Event, path: String) {
        Self.state.withLock { state in
            for prefix in state.events.keys where path.hasPrefix(prefix) { state.events[prefix]?.append(event) }
        }
    }

    private static func file(_ file: UnsafeMutablePointer<sqlite3_file>) -> File? {
        let address = UInt(bitPattern: file)
        return Self.state.withLock { $0.files[address] }
    }

    /// Puts the recording methods in front of those that the usual VFS gave the file.
    private static func adopt(_ file: UnsafeMutablePointer<sqlite3_file>, path: String) {
        guard let methods = file.pointee.pMethods else { return }
        let address = UInt(bitPattern: file)
        let known = File(path: path, methodsAddress: UInt(bitPattern: methods))
        Self.state.withLock { $0.files[address] = known }
        let recording = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        recording.initialize(to: methods.pointee)
        recording.pointee.xWrite = { file, bytes, count, offset in
            guard let file, let bytes, let known = RecordingVFS.file(file), let methods = known.methods else {
                return SQLITE_IOERR
            }
            if case .writing(let status) = RecordingVFS.fault(of: known.path) { return status }
            let copy = Array(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
            RecordingVFS.append(.write(path: known.path, offset: Int(offset), bytes: copy), path: known.path)
            return methods.xWrite(file, bytes, count, offset)
        }
        recording.pointee.xTruncate = { file, count in
            guard let file, let known = RecordingVFS.file(file), let methods = known.methods else {
                return SQLITE_IOERR
            }
            RecordingVFS.append(.truncate(path: known.path, count: Int(count)), path: known.path)
            return methods.xTruncate(file, count)
        }
        recording.pointee.xSync = { file, flags in
            guard let file, let known = RecordingVFS.file(file), let methods = known.methods else {
                return SQLITE_IOERR
            }
            if case .synchronizing(let status) = RecordingVFS.fault(of: known.path) { return status }
            let status = methods.xSync(file, flags)
            RecordingVFS.append(.synchronize(path: known.path), path: known.path)
            return status
        }
        recording.pointee.xClose = { file in
            guard let file, let known = RecordingVFS.file(file), let methods = known.methods else {
                return SQLITE_IOERR
            }
            let address = UInt(bitPattern: file)
            RecordingVFS.state.withLock { $0.files[address] = nil }
            let recording = file.pointee.pMethods
            let status = methods.xClose(file)
            UnsafeMutablePointer(mutating: recording)?.deallocate()
            return status
        }
        file.pointee.pMethods = UnsafePointer(recording)
    }
}
