import Foundation
import Testing

/// What the documentation shows is compiled: each of its Swift examples stands in a snippet or in a test.
@Suite struct READMETests {
    @Test(arguments: [
        ("README.md", "Snippets", 4),
        ("Sources/MobileToken/MobileToken.docc/TestingABot.md", "Tests/MobileTokenTests", 2),
    ])
    func everyExampleIsCompiled(document: String, folder: String, count: Int) throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let sources = try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)
            .filter { $0.hasSuffix(".swift") }
            .map { try String(contentsOf: root.appending(path: folder).appending(path: $0), encoding: .utf8) }
        let text = try String(contentsOf: root.appending(path: document), encoding: .utf8)
        let examples = text.components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "```").first }
            .filter { !$0.hasPrefix(".") }  // lines of a manifest
        #expect(examples.count >= count)
        for example in examples {
            #expect(sources.contains { $0.contains(example) }, "nothing in \(folder) holds this example:\n\(example)")
        }
    }
}
