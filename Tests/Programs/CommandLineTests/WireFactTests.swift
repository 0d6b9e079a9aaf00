import Foundation
import Testing

/// The pages of facts about real servers and the tests of these facts name the same rows. Tests may name recorded answers instead.
@Suite struct WireFactTests {
    private static let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
    private static let pages = [
        "Sources/Emulator/MobileTokenEmulator/MobileTokenEmulator.docc/DifferencesFromRealServers.md",
        "Contributing/WireFacts.md",
    ]

    /// The first cells of the pages' tables.
    private static func rows() throws -> Set<String> {
        let text = try Self.pages.map { try String(contentsOf: Self.root.appending(path: $0), encoding: .utf8) }
            .joined()
        let pattern = /(?m)^\| ([A-Z]?[0-9]+(?:\.[0-9]+)?) \|/
        return Set(text.matches(of: pattern).map { String($0.1) })
    }

    private static func recordings() throws -> Set<String> {
        let folder = Self.root.appending(path: "Tests/Emulator/RecordingTests/Recorded")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        return Set(names.filter { $0.hasSuffix(".jsonl.gz") }.map { "recordings/\($0.dropLast(3))" })
    }

    /// Returns the facts that tests name, with the files that do.
    private static func named() throws -> [String: Set<String>] {
        let folder = Self.root.appending(path: "Tests")
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?
            .compactMap { $0 as? URL }
            .filter { $0.pathExtension == "swift" && $0.lastPathComponent != "WireFactTests.swift" }
        var named: [String: Set<String>] = [:]
        for file in try #require(files) {
            let text = try String(contentsOf: file, encoding: .utf8)
            for call in text.matches(of: /\.wireFact\(([^)]*)\)/) {
                for row in call.1.matches(of: /"([^"]*)"/) {
                    named[String(row.1), default: []].insert(file.lastPathComponent)
                }
            }
        }
        return named
    }

    @Test func everyRowHasATest() throws {
        let (rows, named) = (try Self.rows(), try Self.named())
        #expect(rows.count > 60)
        #expect(rows.filter { named[$0] == nil }.sorted() == [])
    }

    @Test func everyTestNamesARow() throws {
        let (rows, named) = (try Self.rows().union(Self.recordings()), try Self.named())
        #expect(named.filter { !rows.contains($0.key) }.map { "\($0.key): \($0.value)" }.sorted() == [])
    }
}
