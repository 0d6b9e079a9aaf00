import ExactJSON
import Foundation
import Testing

/// Checks that the documentation's examples are compiled: each in Swift stands in a snippet or in a test.
@Suite struct READMETests {
    private static let root = URL(filePath: #filePath).appending(path: "../../../..").standardized

    /// Each document with the folders that compile its examples, separated by spaces, and the least number of examples.
    private static let documents: [(document: String, folders: String, count: Int)] = [
        ("README.md", "Snippets", 2),
        ("Sources/MobileToken/MobileToken/MobileToken.docc/ActivatingWithOpenID.md", "Snippets", 1),
        ("Sources/MobileToken/MobileToken/MobileToken.docc/TestingABot.md", "Tests/MobileToken/MobileTokenTests", 4),
        ("Sources/MobileToken/MobileToken/MobileToken.docc/TestingAFleet.md", "Tests/MobileToken/MobileTokenTests", 2),
        ("Sources/MobileToken/MobileToken/MobileToken.docc/TLSAndProxies.md", "Snippets", 1),
        ("Sources/MobileToken/MobileToken/MobileToken.docc/ServerLibraries.md", "Snippets", 1),
        ("Sources/MobileToken/MobileToken/Operations/OperationsService.swift", "Snippets", 2),
        ("Sources/PowerAuth/PowerAuthClient/Store/ActivationStore.swift", "Snippets", 1),
        ("Sources/MobileToken/MobileToken/MobileToken.docc/WakingByCallback.md", "Snippets", 1),
        ("Sources/MobileToken/MobileTokenPostgres/MobileTokenPostgres.docc/MobileTokenPostgres.md", "Snippets", 1),
        ("Sources/MobileToken/MobileToken/MobileToken.docc/GettingStarted.md", "Snippets", 1),
        ("Sources/MobileToken/MobileToken/MobileToken.docc/Deployment.md", "Snippets", 2),
        ("Sources/MobileToken/MobileToken/MobileToken.docc/RunningADaemon.md", "Snippets", 1),
        ("Sources/MobileToken/MobileToken/MobileToken.docc/MovingFromPhoneSDKs.md", "Snippets", 1),
        ("Sources/MobileToken/MobileToken/MobileToken.docc/ManyActivations.md", "Snippets", 2),
        ("Sources/MobileToken/MobileTokenOffline/MobileTokenOffline.docc/MobileTokenOffline.md", "Snippets", 1),
        ("Sources/MobileToken/MobileToken/MobileToken.docc/DecidingByPolicy.md", "Snippets", 1),
        ("Sources/MobileToken/MobileToken/MobileToken.docc/Limits.md", "Snippets", 1),
        ("Sources/MobileToken/MobileToken/MobileToken.docc/Receipts.md", "Snippets", 3),
        ("Sources/MobileToken/MobileTokenReceipts/MobileTokenReceipts.docc/MobileTokenReceipts.md", "Snippets", 1),
        ("Sources/MobileToken/MobileToken/MobileToken.docc/Versions.md", "Snippets", 2),
        ("Sources/Asking/MobileTokenCloud/MobileTokenCloud.docc/MobileTokenCloud.md", "Snippets", 2),
        ("Sources/Asking/MobileTokenCloud/CloudClient.swift", "Snippets", 1),
        ("Sources/Emulator/MobileTokenEmulator/MobileTokenEmulator.docc/MobileTokenEmulator.md", "Snippets", 3),
        ("Sources/Emulator/MobileTokenEmulator/MobileTokenEmulator.docc/Spaces.md", "Snippets", 2),
        (
            "Sources/MobileToken/MobileTokenTesting/MobileTokenTesting.docc/MobileTokenTesting.md",
            "Snippets Tests/MobileToken/MobileTokenTests", 2
        ),
        ("Sources/Emulator/MobileTokenEmulator/MobileTokenEmulator.docc/VirtualDevices.md", "Snippets", 1),
        ("Sources/Asking/MobileTokenApprovals/MobileTokenApprovals.docc/AskingInSwift.md", "Snippets", 4),
        ("Sources/Asking/MobileTokenApprovals/MobileTokenApprovals.docc/WhatTheAskerKnows.md", "Snippets", 1),
        // The same again, where it is tested against a server.
        ("Sources/MobileToken/MobileToken/Operations/OperationsService.swift", "Tests/MobileToken/MobileTokenTests", 2),
    ]

    @Test(arguments: Self.documents)
    func everyExampleIsCompiled(document: String, folders: String, count: Int) throws {
        let files = try folders.split(separator: " ").flatMap { folder in
            try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: folder).path)
                .filter { $0.hasSuffix(".swift") }
                .map { Self.lines(try Self.text("\(folder)/\($0)")).filter { $0 != Self.givenLine } }
        }
        let examples = try Self.examples(in: document)
        #expect(examples.count >= count)
        for example in examples.map({ $0.filter { $0 != Self.givenLine } }) {
            let isCompiled = files.contains { Self.file($0, holds: example) }
            #expect(isCompiled, "nothing in \(folders) holds this example:\n\(example.joined(separator: "\n"))")
        }
    }

    @Test func noPageWithExamplesIsForgotten() throws {
        func names(in folder: String) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: folder).path)
        }
        let targets = try names(in: "Sources").flatMap { room in try names(in: "Sources/\(room)").map { (room, $0) } }
        let pages = try targets.map { "Sources/\($0)/\($1)/\($1).docc" }.flatMap { catalog in
            try ((try? names(in: catalog)) ?? []).filter { $0.hasSuffix(".md") }.map { "\(catalog)/\($0)" }
                .filter { try !Self.examples(in: $0).isEmpty }
        }
        let compared = Self.documents.map(\.document)
        #expect(pages.filter { !compared.contains($0) } == [])
        #expect(pages.count > 10)
    }

    /// A file that the reader copies is shown whole.
    @Test func theTestingBotIsPastedWhole() throws {
        let examples = try Self.examples(in: "Sources/MobileToken/MobileToken/MobileToken.docc/TestingABot.md")
        for name in ["ApprovalBot", "ApprovalBotTests"] {
            let file = Self.lines(try Self.text("Tests/MobileToken/MobileTokenTests/\(name).swift"))
            #expect(examples.contains(file), "\(name).swift is another one than in the document")
        }
    }

    /// The README's bot is the one that is run against a server.
    @Test func theREADMEsBotIsTested() throws {
        let example = try #require(try Self.examples(in: "README.md").last)
        let bot = try #require(example.firstIndex { $0.hasPrefix("let agent") })
        let tested = Self.lines(try Self.text("Tests/MobileToken/MobileTokenTests/SmallPaymentBot.swift"))
        #expect(Self.file(tested, holds: Array(example[bot...])))
    }

    /// Number 34: the page that everybody reads first names the command that runs the tests, and that command is there.
    @Test func theREADMENamesTheCommandThatRunsTheTests() throws {
        let blocks = try Self.text("README.md").components(separatedBy: "```console\n").dropFirst()
            .compactMap { $0.components(separatedBy: "\n```").first }
        let commands = blocks.flatMap(Self.lines).map { $0.prefix { $0 != " " } }
        #expect(commands.contains("./Scripts/test"))
        #expect(FileManager.default.isExecutableFile(atPath: Self.root.appending(path: "Scripts/test").path))
        // Number 33: the settings without which commands of the pages end with an error.
        #expect(try Self.text("README.md").contains("`mobile-token ask configure` stores where to ask"))
        let (one, several) = ("MobileToken/MobileToken", "MobileTokenPostgres/MobileTokenPostgres")
        #expect(try Self.text("Sources/MobileToken/\(one).docc/Deployment.md").contains("`--marks`, mode 0700"))
        #expect(try Self.text("Sources/MobileToken/\(several).docc/Deploying.md").contains("-postgres --no-tls"))
    }

    /// Checks links between files, which `Scripts/docs` does not look at, as a browser of the repository follows them.
    @Test(arguments: [
        "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "Examples/approval-daemon/README.md",
        "Examples/deployment-gate/README.md", "Examples/junit/README.md", "Contributing/Architecture.md",
        "Contributing/Protocol.md", "Contributing/WireFacts.md", "Benchmarks/README.md",
    ])
    func everyLinkLeadsToAFile(document: String) throws {
        let links = try Self.text(document).matches(of: /\]\(([^)#]+)[^)]*\)/).map { String($0.output.1) }
        let folder = Self.root.appending(path: document).deletingLastPathComponent()
        for link in links where !link.hasPrefix("https:") {
            let isThere = FileManager.default.fileExists(atPath: folder.appending(path: link).path)
            #expect(isThere, "\(document) links to \(link)")
        }
        #expect(!links.isEmpty)
    }

    /// The page for operators says of every error what to do, and of none that is not thrown.
    @Test func everyErrorIsExplained() throws {
        let page = try Self.text("Sources/MobileToken/MobileToken/MobileToken.docc/Errors.md")
        let explained = Self.lines(page).filter { $0.hasPrefix("| `") }
            .flatMap { $0.split(separator: "|").first?.matches(of: /`(\w+)`/).map { String($0.output.1) } ?? [] }
        let declared = try [
            "PowerAuth/PowerAuthClient/Errors/ErrorCodes.swift", "PowerAuth/PowerAuthClient/Store/StoreErrors.swift",
            "PowerAuth/PowerAuth/OIDC/OIDCErrorCodes.swift", "PowerAuth/PowerAuth/ErrorCodes.swift",
            "MobileToken/MobileToken/Client/ErrorCodes.swift", "MobileToken/MobileTokenNotifications/ErrorCodes.swift",
            "MobileToken/MobileTokenOffline/ErrorCodes.swift", "MobileToken/MobileTokenReceipts/ErrorCodes.swift",
            "MobileToken/MobileTokenReconciliation/ErrorCodes.swift",
        ].flatMap { file in
            try Self.text("Sources/\(file)").matches(of: /static let (\w+) = Self\((?:rawValue: )?"/)
                .map { String($0.output.1) }
        }
        #expect(declared.count > 50)
        #expect(explained.sorted() == declared.sorted())
    }

    /// The page of templates has each of them, with its parameters and their values.
    @Test func everyTemplateIsListed() throws {
        let rows = Self.lines(
            try Self.text("Sources/Emulator/MobileTokenEmulator/MobileTokenEmulator.docc/Templates.md")
        )
        .filter { $0.hasPrefix("| `") }
        let folder = "Sources/Emulator/EmulatorBackend/Templates/BuiltIn"
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: folder).path)
        #expect(rows.count == files.count && files.count >= 10)
        for file in files {
            let template = try JSONValue(parsing: Self.text("\(folder)/\(file)"))
            let name = try #require(template["name"]?.string)
            let parameters = try #require(template["defaults"]?.object).members
                .map { "`\($0.key)` \($0.value.string ?? "")" }
            let row = """
                | `\(template["operationType"]?.string ?? name)` | `\(template["data"]?.string ?? "")` \
                | \(parameters.joined(separator: ", ")) |
                """
            #expect(rows.contains { $0.hasPrefix("| `\(name)` |") && $0.hasSuffix(row) }, "\(name): \(row)")
        }
    }

    /// The page about nodes grants a role the rights that `store migrate --grant-to` grants.
    @Test func everyRightIsListed() throws {
        let page = try Self.text("Sources/MobileToken/MobileTokenPostgres/MobileTokenPostgres.docc/Deploying.md")
        let shown = page.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let granted = try Self.text("Sources/MobileToken/MobileTokenPostgres/Schema/PostgresSchema+Rights.swift")
            .matches(of: /(GRANT [^"]+ ON )\\\(tables\(\[(.+?)\]\)\)/)
        #expect(granted.count > 5)
        for grant in granted {
            let tables = grant.output.2.matches(of: /\w+/).map { "mobile_token.\($0.output)" }.joined(separator: ", ")
            let statement = "\(grant.output.1)\(tables) TO bot;"
            let isShown = shown.contains(statement)
            #expect(isShown, "\(statement)")
        }
    }

    // MARK: -

    /// The line of an example whose value a test is given, instead of making it.
    private static let givenLine = "let operations = OperationsService(activation: activation)"

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: self.root.appending(path: path), encoding: .utf8)
    }

    /// The Swift examples of an article, or of the documentation comments of a source file, but for lines of a manifest.
    private static func examples(in document: String) throws -> [[String]] {
        var text = try self.text(document)
        if document.hasSuffix(".swift") {
            text = text.components(separatedBy: "\n").filter { $0.contains("///") }
                .map { line in
                    line.replacing(#/^ *\/\/\/ ?/#, with: "")
                }
                .joined(separator: "\n")
        }
        return text.components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "\n```").first }
            .filter { !$0.hasPrefix(".") && !$0.hasPrefix("// swift-tools-version") }
            .map(self.lines)
    }

    /// Without the indentation, which is another one in a function, and without a snippet's own marks.
    private static func lines(_ text: String) -> [String] {
        var lines = text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        while lines.last?.isEmpty == true { lines.removeLast() }
        return lines
    }

    /// Returns whether the lines of the example stand in the file one after the other. Lines that a snippet hides are no part of
    /// it: in their place, the example begins or goes on.
    private static func file(_ file: [String], holds example: [String]) -> Bool {
        var shown: [String] = []
        var isHidden = false
        for line in file {
            switch line {
            case "// snippet.hide": isHidden = true
            case "// snippet.show": isHidden = false
            default: if !isHidden { shown.append(line) }
            }
        }
        guard example.count <= shown.count, !example.isEmpty else { return false }
        return (0...(shown.count - example.count)).contains { start in
            shown[start..<(start + example.count)].elementsEqual(example)
        }
    }
}
