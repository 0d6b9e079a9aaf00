import Foundation
import Glibc
import PowerAuth

/// A file of lines that is read in pieces and written at its end.
struct ReceiptFile: ~Copyable {
    /// No line is longer: what is shown of an operation fits many times.
    static let maximumLineByteCount = 64 << 20
    private static let pieceByteCount = 64 << 10

    let path: String
    private let descriptor: Int32
    private var buffer: ArraySlice<UInt8>
    private var isAtEnd: Bool
    /// The length of the whole lines that were read or written.
    private(set) var byteCount: Int

    /// Opens a file, or makes it for its owner alone.
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
        /// The bytes behind the last whole line: all of them, unless they are more than any line may have.
        case rest(ArraySlice<UInt8>)
    }

    /// Reads the next line, or what is left.
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

    /// Removes what follows the last whole line.
    func cutRest() throws {
        guard ftruncate(self.descriptor, self.byteCount) == 0, fsync(self.descriptor) == 0 else {
            throw MobileTokenError.system("write", self.path)
        }
    }

    /// Adds whole lines, which are on the disk when it returns.
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
