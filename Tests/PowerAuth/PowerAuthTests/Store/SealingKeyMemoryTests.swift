import Foundation
import Glibc
import StoreTesting
import Testing

import PowerAuth

/// The key that seals a store is nowhere in memory once its owners have gone.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct SealingKeyMemoryTests {
    @Test func noCopyOfTheSealingKeyStaysBehind() throws {
        let key = SecureRandom.secret(Sealing.keyByteCount)
        #expect(try Self.isInMemory(Self.masked(key)), "the search finds what is there")
        let sealed = try Self.sealAndForget()
        #expect(try !Self.isInMemory(sealed))
        withExtendedLifetime(key) {}
    }

    /// Seals with a new key, and returns what to look for.
    @inline(never) private static func sealAndForget() throws -> [UInt8] {
        let key = SecureRandom.secret(Sealing.keyByteCount)
        _ = try Sealing(key: key).seal(ActivationStoreConformance.record("a"))
        return Self.masked(key)
    }

    /// A key in a form that the search does not take for the key itself.
    private static func masked(_ key: SecretBytes) -> [UInt8] { key.withUnsafeBytes { $0.map { ~$0 } } }

    private static let chunk = 1 << 20
    private static let page: UInt = 4_096

    private static func isInMemory(_ masked: [UInt8]) throws -> Bool {
        let memory = open("/proc/self/mem", O_RDONLY)
        try #require(memory >= 0)
        defer { close(memory) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.chunk, alignment: 16)
        defer {
            buffer.initializeMemory(as: UInt8.self, repeating: 0)
            buffer.deallocate()
        }
        let own = UInt(bitPattern: buffer.baseAddress)..<UInt(bitPattern: buffer.baseAddress) + UInt(buffer.count)
        // The search must not find what it has just copied.
        for region in try Self.writableRegions().flatMap({ Self.parts(of: $0, without: own) }) {
            var address = region.lowerBound
            while address < region.upperBound {
                let count = min(Self.chunk, Int(region.upperBound - address))
                let read = max(0, pread(memory, buffer.baseAddress, count, off_t(address)))
                if Self.find(masked, in: UnsafeRawBufferPointer(rebasing: buffer[..<read])) { return true }
                if read == count {
                    address += UInt(max(1, count < Self.chunk ? count : count - masked.count + 1))
                } else {
                    // Another thread has given memory back since the regions were listed: what follows it is still there.
                    address = (address + UInt(read)) / Self.page * Self.page + Self.page
                }
            }
        }
        return false
    }

    private static func parts(of region: Range<UInt>, without hole: Range<UInt>) -> [Range<UInt>] {
        guard region.overlaps(hole) else { return [region] }
        return [
            region.lowerBound..<max(region.lowerBound, hole.lowerBound),
            min(region.upperBound, hole.upperBound)..<region.upperBound,
        ]
    }

    private static func find(_ masked: [UInt8], in bytes: UnsafeRawBufferPointer) -> Bool {
        guard let first = masked.first, var next = bytes.baseAddress else { return false }
        let end = next + bytes.count
        while next < end, let hit = memchr(next, Int32(~first), end - next).map({ UnsafeRawPointer($0) }) {
            if end - hit >= masked.count,
                masked.indices.allSatisfy({ hit.load(fromByteOffset: $0, as: UInt8.self) == ~masked[$0] })
            {
                return true
            }
            next = hit + 1
        }
        return false
    }

    private static func writableRegions() throws -> [Range<UInt>] {
        // Foundation's readers of whole files stop after a page of a file that the kernel makes up, because its size is 0.
        let file = try #require(FileHandle(forReadingAtPath: "/proc/self/maps"))
        let text = try #require(String(data: try file.readToEnd() ?? Data(), encoding: .utf8))
        return text.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            guard fields.count >= 2, fields[1].utf8.starts(with: "rw".utf8) else { return nil }
            let bounds = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            // Sanitizers reserve terabytes.
            guard bounds.count == 2, bounds[1] - bounds[0] < 1 << 30 else { return nil }
            return bounds[0]..<bounds[1]
        }
    }
}
