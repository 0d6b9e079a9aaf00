import ExactJSON
import Foundation
import MobileToken
import MobileTokenTesting
import Testing

/// An operation from a template of ours leaves no doubt but those that its content must leave, in every language of the template.
@Suite(.timeLimit(.minutes(5))) struct ShippedTemplateTests {
    private static let root = URL(filePath: #filePath).appending(path: "../../../../..").standardized
    /// Files with a form that belongs to no template.
    private static let others = [
        "Examples/approval-daemon/Tests/ApprovalDaemonTests/PolicyTests.swift",  // operations, some of which lie
        "Sources/Emulator/MobileTokenEmulator/EmulatorCloud.swift",  // an operation without a template
        "Sources/MobileToken/MobileTokenTesting/ScriptedApprovals.swift",  // made of what a request shows
    ]
    /// The doubts on purpose, by template: a person must see pictures, notices, screens and amounts that are not signed.
    private static let doubts: [String: Set<OperationReview.Doubt.Kind>] = [
        "login_preApproval": [.screenToPass], "login_preApproval_legacy": [.screenToPass],
        "login_proximity": [.screenToPass], "payment_shop": [.picture], "payment_suspicious": [.notice],
        "payment_conversion": [.conversion, .amountNotShown, .amountNotSigned, .notice],
        "showcase": [.screenToPass, .conversion, .amountNotSigned, .notice, .picture],
    ]
    private static let values = ["version": "4.2.1", "fingerprint": "7b3f-22c9", "binding": "q83vEjRWeJCrze8SNFZ4kA"]

    /// The files that hold a form, such as `"formData": {`, with the templates in them.
    private static func files() throws -> [(name: String, templates: [JSONValue])] {
        let gate = "Examples/deployment-gate/Sources/DeploymentGate/DeploymentGate.swift"
        let signs = try #require(
            try String(contentsOf: Self.root.appending(path: gate), encoding: .utf8).firstMatch(of: /signs: "([^"]+)"/)
        ).1
        let names = ["Contributing", "Examples", "Scripts", "Snippets", "Sources"].flatMap { folder in
            let paths = FileManager.default.enumerator(atPath: Self.root.appending(path: folder).path)
            return (paths?.compactMap { $0 as? String } ?? []).map { "\(folder)/\($0)" }
        }
        return (names + ["README.md"]).compactMap { name in
            guard !name.contains("/.build/"),
                let text = try? String(contentsOf: Self.root.appending(path: name), encoding: .utf8),
                text.contains("formData"),
                text.contains(#/formData"?:\s?[{\[]/#)
            else { return nil }
            // Comments, a name that Swift fills in, and JavaScript's names without quotes and commas before ends.
            var json = text.replacing(#/(?m)^ *///\ ?/#, with: "")
                .replacing("\\#(DeploymentGate.template.signs)", with: signs)
            if name.hasSuffix(".js") {
                json = json.replacing(#/([{,\s])(\w+):\s/#) { "\($0.1)\"\($0.2)\": " }
                    .replacing(#/,(\s*[}\]])/#) { $0.1 }
            }
            var opened: [String.Index] = []
            return (
                name,
                json.indices.compactMap { index in
                    if json[index] == "{" { opened.append(index) }
                    guard json[index] == "}", let start = opened.popLast() else { return nil }
                    let object = json[start...index].contains("\"formData\"") ? String(json[start...index]) : ""
                    return (try? JSONValue(parsing: object)).flatMap { $0["formData"] == nil ? nil : $0 }
                }
            )
        }
    }

    @Test func theyLeaveNoDoubts() async throws {
        let files = try Self.files()
        #expect(files.filter { $0.templates.isEmpty }.map(\.name).sorted() == Self.others)
        try await withEmulator { emulator in
            let alice = try await emulator.makeActivation(user: "alice", password: "1234")
            let operations = OperationsService(activation: alice)
            let builtIn = await emulator.templates().map(\.name)
            let found = Set(files.flatMap(\.templates).compactMap { $0["name"]?.string })
            #expect(builtIn.filter { !found.contains($0) } == [])
            for (file, template) in files.flatMap({ file in file.templates.map { (file.name, $0) } }) {
                let name = try #require(template["name"]?.string, "\(file)")
                try await emulator.addTemplate(String(decoding: template.serialized(), as: UTF8.self))
                let summary = try #require(await emulator.templates().first { $0.name == name })
                let given = (template["defaults"]?.object?.keys ?? []) + (template["parameters"]?.object?.keys ?? [])
                let parameters = summary.parameters.filter { !given.contains($0) }
                    .reduce(into: [:]) { $0[$1] = JSONValue.string(Self.values[$1] ?? "billing") }
                let cloud = emulator.cloud
                let operation = try await cloud.createOperation(name, userID: "alice", parameters: parameters)
                for language in template["texts"]?.object?.keys ?? ["en"] {
                    await operations.setAcceptLanguage(try .init(language))
                    let shown = try await operations.detail(id: operation.id)
                    let doubts = Set(OperationReview(of: shown).doubts.map(\.kind))
                    #expect(doubts == Self.doubts[name] ?? [], "\(file): \(name) in \(language)")
                }
                try await cloud.cancelOperation(operation.id)
            }
        }
    }
}
