import Foundation
import Testing

/// The page of what is believed about real servers, and the tests that rest on it, name the same rows.
@Suite struct WireFactTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    private static let page = "Sources/MobileTokenEmulator/MobileTokenEmulator.docc/DifferencesFromRealServers.md"

    /// The first cells of the page's tables.
    private static func rows() throws -> Set<String> {
        let text = try String(contentsOf: Self.root.appending(path: Self.page), encoding: .utf8)
        let pattern = /(?m)^\| ([A-Z]?[0-9]+(?:\.[0-9]+)?) \|/
        return Set(text.matches(of: pattern).map { String($0.1) })
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
        let (rows, named) = (try Self.rows(), try Self.named())
        #expect(named.filter { !rows.contains($0.key) }.map { "\($0.key): \($0.value)" }.sorted() == [])
    }
}
