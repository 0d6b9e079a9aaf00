import ExactJSON
import Foundation
import MobileToken
import MobileTokenTesting
import TestSupport
import Testing

/// Templates of one's own: over HTTP, in Swift and from files.
@Suite(.timeLimit(.minutes(5))) struct ServedTemplateTests {
    static func template(_ name: String = "order", title: String = "Order ${what}", _ more: String = "") -> String {
        """
        {"name": "\(name)", "data": "A1*T${what}",
         "allowedSignatureType": {"type": "1FA", "variants": ["possession"]},\(more)
         "formData": {"title": "\(title)", "message": "m"}}
        """
    }

    @Test func oneThatComesInIsUsedAndGoneAfterAReset() async throws {
        try await withEmulator { emulator in
            let events = emulator.events()
            #expect(try await emulator.send("POST", "/_emulator/templates", body: Self.template()).status == 200)
            #expect(await events.first { $0.kind == .templates } != nil)
            let shown = try await emulator.send("GET", "/_emulator/templates/order")
            #expect(try JSONValue(parsing: Array(shown.body)) == JSONValue(parsing: Self.template()))
            #expect(await emulator.templates().contains { $0.name == "order" && $0.parameters == ["what"] })
            let tea: [String: JSONValue] = ["what": "tea"]
            let operation = try await emulator.cloud.createOperation("order", userID: "alice", parameters: tea)
            #expect(await emulator.operations().first { $0.id == operation.id }?.title == "Order tea")
            try await emulator.reset()
            #expect(try await emulator.send("GET", "/_emulator/templates/order").status == 404)
            #expect(try await emulator.send("DELETE", "/_emulator/templates/order").status == 404)
        }
    }

    @Test func whatWouldHideAnOperationThatWaitsIsRefused() async throws {
        try await withEmulator { emulator in
            try await emulator.addTemplate(Self.template())
            let parameters: [String: JSONValue] = ["what": "tea"]
            let operation = try await emulator.cloud.createOperation("order", userID: nil, parameters: parameters)
            await #expect { try await emulator.removeTemplate("order") } throws: { Self.code(of: $0) == .conflict }
            #expect(await emulator.operations().first?.title == "Order tea")
            try await emulator.addTemplate(Self.template(title: "Buy ${what}"))
            #expect(await emulator.operations().first?.title == "Buy tea")
            try await emulator.cloud.cancelOperation(operation.id)
            try await emulator.removeTemplate("order")
            await #expect { try await emulator.removeTemplate("order") } throws: { Self.code(of: $0) == .notFound }
        }
    }

    static func code(of error: any Error) -> EmulatorError.Code? { (error as? EmulatorError)?.code }

    /// An operation that waits needs its template wherever the state goes.
    @Test func templatesGoWhereTheStateGoes() async throws {
        let folder = try TemporaryFolder()
        var configuration = Emulator.Configuration()
        configuration.dataFile = folder.file("state.sqlite")
        let document = try await withEmulator(configuration) { emulator in
            try await emulator.addTemplate(Self.template())
            try await emulator.removeTemplate("showcase")
            try await emulator.cloud.createOperation("order", userID: "alice", parameters: ["what": "tea"])
            return try await emulator.exported()
        }
        func expectTemplates(_ emulator: Emulator) async throws {
            #expect(await emulator.operations().first?.title == "Order tea")
            #expect(await emulator.templates().contains { $0.name == "showcase" } == false)
            let id = try #require(await emulator.operations().first?.id)
            #expect(try await emulator.send("GET", "/_emulator/operations/\(id)/preview").status == 200)
        }
        try await withEmulator(configuration) { emulator in
            try await expectTemplates(emulator)
            try await emulator.reset()
            #expect(await emulator.templates().contains { $0.name == "order" } == false)
            #expect(await emulator.templates().contains { $0.name == "showcase" })
            try await emulator.importState(document)
            try await expectTemplates(emulator)
            try await emulator.reset()
            try await expectTemplates(emulator)
            let space = try await emulator.makeSpace(from: .state(document))
            #expect(await space.operations().first?.title == "Order tea")
            #expect(try await space.exported() == document)
        }
    }

    /// The state of a server that was started with a template, at one that was not.
    @Test func aMissingTemplateIsToldByName() async throws {
        let document = try await withEmulator(altered(.init()) { $0.templates = [Self.template()] }) { emulator in
            try await emulator.cloud.createOperation("order", userID: "alice", parameters: ["what": "tea"])
            return try await emulator.exported()
        }
        try await withEmulator { emulator in
            try await emulator.importState(document)
            let id = try #require(await emulator.operations().first?.id)
            let refused = try await emulator.send("GET", "/_emulator/operations/\(id)/preview")
            #expect(refused.status == 409 && refused.text.contains("there is no template 'order'"), "\(refused.text)")
            #expect(try await emulator.send("GET", "/_emulator/operations/none/preview").status == 404)
        }
    }

    @Test func thereIsRoomForSoMany() async throws {
        try await withEmulator(altered(.init()) { $0.capacity.templates = 11 }) { emulator async throws in
            #expect(try await emulator.send("POST", "/_emulator/templates", body: Self.template("a")).status == 200)
            #expect(try await emulator.send("POST", "/_emulator/templates", body: Self.template("a")).status == 200)
            #expect(try await emulator.send("POST", "/_emulator/templates", body: Self.template("b")).status == 507)
            await #expect { try await emulator.addTemplate(Self.template("b")) } throws: {
                Self.code(of: $0) == .capacityExceeded
            }
        }
    }

    private static let wrong: [(document: String, message: String)] = [
        ("{\n\"name\": \"x\",\n\"dta\": \"A1\"}", "line 3: 'dta' is not known here; did you mean 'data'?"),
        (Self.template("a b"), "line 1: 'name' is letters, digits and . _ - alone, at most 64"),
        (Self.template(title: "@{title}"), "line 3: There is no text 'title'"),
        (
            Self.template("order", "\n \"texts\": {\"cs\": {\"title\": \"x\"}},"),
            "line 3: texts in 'en' are missing"
        ),
        (
            Self.template("order", "\n\"parameters\": {\"what\": [1]},"),
            "line 3: 'parameters.what' is not a string"
        ),
        (Self.template("order", "\n\"expiresIn\": 0,"), "line 3: 'expiresIn' is not 1 to 31536000"),
        (
            Self.template("order", "\n\"ui\": {\n\"x\": [1,\n\"${y:number}${what}@{z}\"]},"),
            "line 5: There is no text 'z'"
        ),
        (Self.template("order", "\n\"parameters\": {\"a\": 1,\n\"a\": 2},"), "line 4: 'a' is given twice"),
        (
            Self.template().replacing("\"possession\"", with: "\"posession\""),
            """
            line 2: 'allowedSignatureType.variants' are one or more of possession, knowledge, biometry, \
            possession_knowledge, possession_biometry, possession_knowledge_biometry
            """
        ),
        (
            Self.template().replacing("T${what}", with: "T${what:numbr}"),
            "line 1: '${what:numbr}' ends in another form than ':number', and there is no parameter 'what:numbr'"
        ),
        (
            Self.template().replacing("1FA", with: "3FA"),
            "line 2: 'allowedSignatureType.type' is none of 1FA, 2FA, ECDSA"
        ),
        (Self.template().replacing("\"m\"", with: "5"), "line 3: 'formData.message' is not a string"),
        (
            Self.template().replacing("\"m\"", with: "\"m\",\n\"attributes\": [{\n\"id\": \"1\"}]"),
            "line 4: 'formData.attributes[0].type' is missing"
        ),
        (
            Self.template().replacing("T${what}", with: "T${what"),
            "line 1: '${' begins a placeholder that has no '}'"
        ),
        (Self.template(title: "@{title"), "line 3: '@{' begins a placeholder that has no '}'"),
        ("[]", "line 1: The body is not an object"), ("{", "line 1: JSON: unexpected end at byte 1"),
    ]

    @Test func whatIsWrongIsRefusedWithItsLineAndChangesNothing() async throws {
        try await withEmulator { emulator in
            let templates = await emulator.templates()
            for (document, message) in Self.wrong {
                let refused = try await emulator.send("POST", "/_emulator/templates", body: document)
                #expect(refused.status == 400)
                #expect(try JSONValue(parsing: Array(refused.body))["responseObject"]?["message"]?.string == message)
                await #expect {
                    try await emulator.addTemplate(document)
                } throws: {
                    Self.code(of: $0) == .invalidDocument && ($0 as? EmulatorError)?.message == message
                }
                #expect(await emulator.templates() == templates)
            }
        }
    }

    @Test func whatIsNotDeclaredAsJSONIsRefused() async throws {
        try await withEmulator { emulator async throws in
            for path in ["/_emulator/templates", "/_emulator/scenario"] {
                #expect(try await emulator.send("POST", path, type: "text/plain", body: Self.template()).status == 415)
            }
        }
    }

    // MARK: - Files

    @Test func aFolderOfFilesIsTakenAsAWhole() async throws {
        let folder = try TemporaryFolder()
        try Data(Self.template("one").utf8).write(to: folder.url.appending(path: "1.json"))
        try Data(Self.template("two").utf8).write(to: folder.url.appending(path: "2.json"))
        try Data("no template".utf8).write(to: folder.url.appending(path: "README.md"))
        var configuration = Emulator.Configuration()
        try configuration.addTemplates(from: folder.path)
        try configuration.addTemplates(from: folder.file("1.json"))
        #expect(configuration.templates.count == 3)
        try await withEmulator(configuration) { emulator in
            let names = await emulator.templates().map(\.name)
            #expect(names.contains("one") && names.contains("two"))
            // They are what a reset goes back to.
            try await emulator.removeTemplate("one")
            try await emulator.reset()
            #expect(await emulator.templates().map(\.name) == names)
        }
        try Data("{\n\"name\": 5}".utf8).write(to: folder.url.appending(path: "3.json"))
        let error = #expect(throws: EmulatorError.self) { try configuration.addTemplates(from: folder.path) }
        #expect(error?.message == "\(folder.file("3.json")): line 2: 'name' is not a string")
        #expect(configuration.templates.count == 3)
    }

    @Test func aFileThatIsNotThereAndAFolderWithoutAnyAreRefused() throws {
        let folder = try TemporaryFolder()
        var configuration = Emulator.Configuration()
        for path in [folder.path, folder.file("missing.json")] {
            #expect { try configuration.addTemplates(from: path) } throws: {
                Self.code(of: $0) == .invalidConfiguration
            }
        }
    }

    @Test func aConfigurationThatCannotWorkIsRefusedAtTheStart() async throws {
        var configuration = Emulator.Configuration()
        configuration.templates = [Self.template(), "{\n\"name\": \"x\"}"]
        await #expect {
            _ = try await Emulator.start(configuration: configuration)
        } throws: {
            "\($0)".contains("number 2") && "\($0)".contains("line 1: 'data' is missing")
        }
    }

    // MARK: - Without a template

    @Test func aFormOfOnesOwnIsAsGoodInSwiftAsOverHTTP() async throws {
        try await withEmulator { emulator in
            let activation = try await emulator.makeActivation(user: "alice", password: "1234")
            let operation = try await emulator.cloud.createOperation(
                named: "signing",
                data: "A1*I12",
                formData: ["title": "Sign", "message": "The contract", "attributes": []],
                userID: "alice",
                variants: ["possession"],
                lifetime: .seconds(60)
            )
            let service = OperationsService(activation: activation)
            let listed = try #require(try await service.operations().first)
            #expect(listed.id == operation.id && listed.name == "signing" && listed.formData.title == "Sign")
            try await service.authorize(listed, with: .possession)
            #expect(try await emulator.cloud.operation(operation.id).status == .approved)
            let error = await #expect(throws: CloudError.self) {
                try await emulator.cloud.createOperation(named: "x", data: "A1", formData: ["title": "t"], userID: nil)
            }
            #expect(error?.message == "'formData.message' is missing")
        }
    }
}
