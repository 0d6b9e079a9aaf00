import Foundation
import Testing

/// What the README shows is compiled: each of its Swift examples stands in a snippet.
@Suite struct READMETests {
    @Test func everyExampleIsASnippet() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let folder = root.appending(path: "Snippets")
        let snippets = try FileManager.default.contentsOfDirectory(atPath: folder.path).map {
            try String(contentsOf: folder.appending(path: $0), encoding: .utf8)
        }
        let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        let examples = readme.components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
            .filter { !$0.hasPrefix(".") }  // lines of a manifest
        #expect(examples.count >= 4)
        for example in examples {
            #expect(snippets.contains { $0.contains(example) }, "no snippet holds this example:\n\(example)")
        }
    }
}
