import Foundation
import Glibc
import PowerAuthClient

/// A file of lines, read in pieces and appended to.
struct ReceiptFile: ~Copyable {
    /// The maximum length of a line, many times what an operation's shown data need.
    static let maximumLineByteCount = 64 << 20
    private static let pieceByteCount = 64 << 10

    let path: String
    private let descriptor: Int32
    private var buffer: ArraySlice<UInt8>
    private var isAtEnd: Bool
    /// The length of the complete lines read or written.
    private(set) var byteCount: Int

    /// Opens a file, or creates it for its owner only.
    init(path: String, isWritable: Bool) throws {
        if isWritable {
            _ = try PrivateFile.create(path, holding: UnsafeRawBufferPointer(start: nil, count: 0))
            try PrivateFile.check(path, against: .change)
        }
        let descriptor = open(path, (isWritable ? O_RDWR | O_APPEND : O_RDONLY) | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw MobileTokenError.system("open", path) }
        self.path = path
        self.descriptor = descriptor
        self.buffer = []
        self.isAtEnd = false
        self.byteCount = 0
    }

    deinit { close(self.descriptor) }

    enum Piece {
        case line([UInt8])
        /// The bytes after the last complete line: all of them, unless they exceed the maximum line length.
        case rest(ArraySlice<UInt8>)
    }

    /// Reads the next line, or the remaining bytes.
    mutating func next() throws -> Piece {
        var searched = self.buffer.startIndex
        while true {
            if let end = self.buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                defer { self.buffer = self.buffer[(end + 1)...] }
                self.byteCount += end + 1 - self.buffer.startIndex
                return .line(Array(self.buffer[..<end]))
            }
            guard !self.isAtEnd, self.buffer.count <= Self.maximumLineByteCount else {
                return .rest(self.buffer)
            }
            searched = self.buffer.endIndex
            try self.fill()
        }
    }

    private mutating func fill() throws {
        var piece = [UInt8](repeating: 0, count: Self.pieceByteCount)
        let count = read(self.descriptor, &piece, piece.count)
        guard count >= 0 else {
            if errno == EINTR { return }
            throw MobileTokenError.system("read", self.path)
        }
        self.isAtEnd = count == 0
        self.buffer += piece[..<count]
    }

    /// Removes the bytes after the last complete line.
    func cutRest() throws {
        guard ftruncate(self.descriptor, self.byteCount) == 0, fsync(self.descriptor) == 0 else {
            throw MobileTokenError.system("write", self.path)
        }
    }

    /// Appends complete lines, durable when it returns.
    mutating func append(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(self.descriptor, $0.baseAddress, $0.count) }
            guard count >= 0 || errno == EINTR else { throw MobileTokenError.system("write", self.path) }
            rest = rest.dropFirst(max(0, count))
        }
        guard fsync(self.descriptor) == 0 else { throw MobileTokenError.system("write", self.path) }
        self.byteCount += bytes.count
    }
}
