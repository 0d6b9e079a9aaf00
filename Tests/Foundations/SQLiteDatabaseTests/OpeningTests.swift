import Foundation
import Glibc
import SQLiteDatabase
import TestSupport
import Testing

/// Opening and making files, and sharing them between connections.
@Suite struct OpeningTests {
    private let folder: TemporaryFolder
    private var path: String { self.folder.file("test.sqlite") }

    init() throws { self.folder = try TemporaryFolder() }

    private func open(
        _ access: SQLiteConnection.Access = .create(permissions: 0o600),
        lockTimeout: Duration = .seconds(10)
    ) throws(SQLiteError) -> SQLiteConnection {
        try SQLiteConnection(path: self.path, access: access, lockTimeout: lockTimeout)
    }

    private func permissions(of path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : nil
    }

    @Test(arguments: [0o600, 0o666] as [UInt32]) func newFilesHaveTheGivenPermissions(_ permissions: UInt32) throws {
        let connection = try self.open(.create(permissions: permissions))
        try connection.useWriteAheadLog()
        try connection.run("CREATE TABLE item (id INTEGER) STRICT")
        for suffix in ["", "-wal", "-shm"] { #expect(self.permissions(of: self.path + suffix) == permissions) }
        // Nothing half-made is left behind.
        let names = try FileManager.default.contentsOfDirectory(atPath: self.folder.path)
        #expect(names.sorted() == ["test.sqlite", "test.sqlite-shm", "test.sqlite-wal"])
    }

    @Test func aFileThatIsThereKeepsItsContentAndPermissions() throws {
        try self.open().run("CREATE TABLE item (id INTEGER) STRICT")
        try self.open(.create(permissions: 0o666)).run("INSERT INTO item VALUES (1)")
        #expect(self.permissions(of: self.path) == 0o600)
    }

    @Test func onlyCreateMakesAFile() throws {
        for access: SQLiteConnection.Access in [.readOnly, .readWrite] {
            let error = #expect(throws: SQLiteError.self) { try self.open(access) }
            #expect(error?.systemError == ENOENT)
            #expect(error?.kind == .other)
        }
        let path = self.folder.file("nowhere/test.sqlite")
        let error = #expect(throws: SQLiteError.self) {
            try SQLiteConnection(path: path, access: .create(permissions: 0o600))
        }
        #expect(error?.systemError == ENOENT)
    }

    @Test func whatIsOpenForReadingIsNotWritten() throws {
        try self.open().run("CREATE TABLE item (id INTEGER) STRICT")
        let connection = try self.open(.readOnly)
        let error = #expect(throws: SQLiteError.self) { try connection.run("INSERT INTO item VALUES (1)") }
        #expect(error?.kind == .readOnly)
        #expect(try connection.rows("SELECT id FROM item") { $0.integer(0) }.isEmpty)
    }

    @Test func whatIsNoDatabaseIsSaidToBeDamaged() throws {
        try Array("No database at all, but long enough to be one, if it only began in another way…".utf8)
            .withUnsafeBytes { bytes in
                let descriptor = Glibc.open(self.path, O_WRONLY | O_CREAT, 0o600)
                defer { close(descriptor) }
                try #require(write(descriptor, bytes.baseAddress, bytes.count) == bytes.count)
            }
        let connection = try self.open(.readWrite)
        let error = #expect(throws: SQLiteError.self) { try connection.run("SELECT * FROM sqlite_schema") }
        #expect(error?.kind == .corrupted)
    }

    @Test func aConnectionWithoutATimeoutDoesNotWait() throws {
        let holder = try self.open()
        try holder.transaction {
            let other = try self.open(lockTimeout: .zero)
            for work: () throws -> Void in [{ try other.transaction {} }, { try other.useWriteAheadLog() }] {
                let error = #expect(throws: SQLiteError.self) { try work() }
                #expect(error?.kind == .busy)
            }
        }
    }

    @Test func aConnectionWaitsForALock() async throws {
        let holder = try self.open()
        try holder.run("CREATE TABLE item (id INTEGER) STRICT")
        try holder.run("BEGIN IMMEDIATE")
        let path = self.path
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let waiter = Task.detached {
            let connection = try SQLiteConnection(path: path)
            start.finish()
            try connection.run("INSERT INTO item VALUES (1)")
        }
        for await _ in started {}
        try holder.run("COMMIT")
        try await waiter.value
        #expect(try holder.firstRow("SELECT count(*) FROM item") { $0.integer(0) } == 1)
    }
}
