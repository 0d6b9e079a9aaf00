import ExactJSON
import Foundation
import Testing
import WireFacts

@testable import MobileTokenEmulator

@Suite struct OperationListTests {
    @Test func anOperationIsShownInFull() throws {
        var (fixture, device) = try BackendFixture.withToken()
        let parameters: JSONValue = ["amount": "1234567.5", "currency": "CZK", "note": "a*b\nc\\d"]
        let id = try fixture.operation("payment", ["parameters": parameters]).id
        let reply = device.sendWithToken("/api/auth/token/app/operation/list", in: &fixture)
        #expect(reply.json["currentTimestamp"]?.string == "2027-01-15T08:00:00+0000")
        let shown = try #require(reply.object[0])
        #expect(shown["id"]?.string == id)
        #expect(shown["name"]?.string == "authorize_payment")
        #expect(shown["status"]?.string == "PENDING")
        #expect(shown["data"]?.string == #"A1*A1234567.5CZK*ICZ5508000000001234567899*R2026*Na\*b\nc\\d"#)
        #expect(shown["operationCreated"]?.string == "2027-01-15T08:00:00+0000")
        #expect(shown["operationExpires"]?.string == "2027-01-15T08:05:00+0000")
        #expect(
            shown["allowedSignatureType"] == [
                "type": "2FA", "variants": ["possession_knowledge", "possession_biometry"],
            ]
        )
        let amount = try #require(shown["formData"]?["attributes"]?[1])
        #expect(amount["amount"]?.number?.literal == "1234567.5")
        #expect(amount["amountFormatted"]?.string == "1,234,567.50")
        #expect(amount["valueFormatted"]?.string == "CZK1,234,567.50")
        #expect(shown["formData"]?["attributes"]?[3]?["note"]?.string == "a*b\nc\\d")
        #expect(shown["ui"]?["postApprovalScreen"]?["type"]?.string == "REVIEW")
    }

    @Test(
        .wireFact("2.4"),
        arguments: [
            (nil, "Confirm Payment", "100.00"), ("cs", "Potvrzení platby", "100,00"),
            ("cs-CZ, en;q=0.8", "Potvrzení platby", "100,00"), ("fr, de;q=0.5, cs;q=0.4", "Confirm Payment", "100,00"),
            ("fr", "Confirm Payment", "100,00"), ("cs;q=0, en", "Confirm Payment", "100.00"),
            ("cs,\u{301}x", "Potvrzení platby", "100,00"), ("cs-\u{301}Z;\u{301}", "Confirm Payment", "100.00"),
            ("cs;q=0.4, de;q=0.5", "Zahlung bestätigen", "100,00"), ("de, cs", "Zahlung bestätigen", "100,00"),
            ("*", "Confirm Payment", "100.00"), (";;,,=q", "Confirm Payment", "100.00"),
        ]
    )
    func textsAreInTheReadersLanguage(accept: String?, title: String, amount: String) throws {
        var (fixture, device) = try BackendFixture.withToken()
        _ = try fixture.operation("payment")
        let shown = try #require(device.operations(language: accept, in: &fixture).first)
        #expect(shown["formData"]?["title"]?.string == title)
        #expect(shown["formData"]?["attributes"]?[1]?["amountFormatted"]?.string == amount)
    }

    @Test(arguments: [
        ("en", ["The payment is on its way", "The payment was not approved", "The payment was rejected"]),
        ("cs", ["Platba byla odeslána", "Platba nebyla potvrzena", "Platba byla zamítnuta"]),
        ("de", ["Die Zahlung ist unterwegs", "Die Zahlung wurde nicht freigegeben", "Die Zahlung wurde abgelehnt"]),
    ])
    func resultTextsAreInTheReadersLanguage(language: String, texts: [String]) throws {
        var (fixture, device) = try BackendFixture.withToken()
        _ = try fixture.operation("payment")
        let shown = try #require(device.operations(language: language, in: &fixture).first?["formData"]?["resultTexts"])
        #expect(["success", "failure", "reject"].map { shown[$0]?.string } == texts)
    }

    @Test func detailAndHistoryShowWhatTheListShows() throws {
        var (fixture, device) = try BackendFixture.withToken()
        for name in fixture.backend.templates.map(\.name) {
            let id = try fixture.operation(name).id
            let language = ("Accept-Language", "cs")
            let listed = try #require(device.operations(language: "cs", in: &fixture).first { $0["id"]?.string == id })
            let token = device.tokenHeader(timestamp: fixture.milliseconds)
            let detail = fixture.send(
                "/api/auth/token/app/operation/detail",
                headers: [token, language],
                json: ["requestObject": ["id": .string(id)]]
            )
            #expect(detail.object == listed, "\(name)")
            let body = Array("{}".utf8)
            let signature = try device.codeHeader(.possessionKnowledge, uriID: "/operation/history", body: body)
            let history = fixture.send(
                "POST",
                "/api/auth/token/app/operation/history",
                headers: [signature, language],
                body: body
            )
            // The history tells of no code to scan: "history: proximity of the template" of `mobile.jsonl`.
            var expected = listed.object
            if name == "login_proximity" { expected?["ui"] = [:] }
            #expect(history.object.array?.first { $0["id"]?.string == id }?.object == expected, "\(name)")
        }
    }

    @Test func everyUIElementOfTheProtocolIsShownBySomeTemplate() throws {
        var (fixture, device) = try BackendFixture.withToken()
        for name in fixture.backend.templates.map(\.name) { _ = try fixture.operation(name) }
        let shown = device.operations(in: &fixture).compactMap { $0["ui"] }
        let screens = shown.flatMap { $0["preApprovalScreens"]?.array ?? [] }
        let typesOfScreens = Set(screens.compactMap { $0["type"]?.string })
        #expect(typesOfScreens.isSuperset(of: ["QR_SCAN", "WARNING"]))
        let elements = screens.flatMap { $0["elements"]?.array ?? [] }
        let typesOfElements = Set(elements.compactMap { $0["type"]?.string })
        #expect(typesOfElements.isSuperset(of: ["LIST_ITEM", "ALERT", "BUTTON"]))
        #expect(screens.contains { $0["controls"]?["approve"]?["counter"]?.int64 != nil })
        #expect(shown.contains { $0["preApprovalScreen"]?["approvalType"]?.string == "SLIDER" })
        let ends = Set(shown.compactMap { $0["postApprovalScreen"]?["type"]?.string })
        #expect(ends.isSuperset(of: ["REVIEW", "MERCHANT_REDIRECT", "GENERIC"]))
        #expect(shown.contains { $0["flipButtons"]?.bool == true })
        #expect(shown.contains { $0["blockApprovalOnCall"]?.bool == true })
    }

    /// Real servers order by creation, also what was claimed later: REALSERVER C17.
    @Test func theListIsInTheOrderOfCreationAlsoAfterAClaim() throws {
        var (fixture, device) = try BackendFixture.withToken()
        let first = try fixture.operation(user: nil).id
        fixture.advance(seconds: 1)
        let second = try fixture.operation().id
        #expect(device.operations(in: &fixture).compactMap { $0["id"]?.string } == [second])
        let claimed = device.sendWithToken(
            "/api/auth/token/app/operation/detail/claim",
            ["requestObject": ["id": .string(first)]],
            in: &fixture
        )
        #expect(claimed.status == 200)
        #expect(device.operations(in: &fixture).compactMap { $0["id"]?.string } == [second, first])
    }

    @Test func everyTemplateIsShownAndReadable() throws {
        var (fixture, device) = try BackendFixture.withToken()
        let names = fixture.backend.templates.map(\.name)
        for name in names { _ = try fixture.operation(name) }
        for language in ["en", "cs", "de"] {
            let shown = device.operations(language: language, in: &fixture)
            #expect(shown.count == names.count)
            for operation in shown {
                let text = String(decoding: operation.serialized(), as: UTF8.self)
                #expect(!text.contains("${") && !text.contains("@{"), "\(text)")
            }
        }
        let types = device.operations(in: &fixture).flatMap { $0["formData"]?["attributes"]?.array ?? [] }
            .compactMap { $0["type"]?.string }
        let known: Set = [
            "ALERT", "HEADING", "AMOUNT", "AMOUNT_CONVERSION", "KEY_VALUE", "NOTE", "IMAGE", "PARTY_INFO",
        ]
        #expect(known.isSubset(of: types))
    }

    @Test func customOperationsAreShownAsTheyWereMade() throws {
        var (fixture, device) = try BackendFixture.withToken()
        let form = try JSONValue(
            parsing: #"""
                {"title":"T","message":"M","attributes":[
                  {"type":"AMOUNT","id":"a","label":"L","amount":2199.40,"currency":"EUR"},
                  {"type":"HOLOGRAM","id":"h","label":"L","x":[1]}]}
                """#
        )
        let request: JSONValue = [
            "userId": "alice", "operationType": "custom", "data": "A9", "formData": form, "ui": ["flipButtons": true],
            "allowedSignatureType": ["type": "1FA", "variants": ["possession"]], "expiresIn": 7,
        ]
        #expect(fixture.cloud("POST", "/v2/operations", request).status == 200)
        let shown = try #require(device.operations(in: &fixture).first)
        #expect(shown["name"]?.string == "custom")
        #expect(shown["formData"]?["attributes"]?[0]?["amount"]?.number?.literal == "2199.40")
        #expect(shown["formData"]?["attributes"]?[0]?["valueFormatted"]?.string == "€2,199.40")
        #expect(shown["formData"]?["attributes"]?[1] == form["attributes"]?[1])
        #expect(shown["ui"] == ["flipButtons": true])
        #expect(shown["operationExpires"]?.string == "2027-01-15T08:00:07+0000")
    }

    @Test(.wireFact("B23", "2.2", "2.3"), arguments: ["", "{", "anything", #"{"requestObject":null}"#])
    func listAndHistoryReadNoBodyAndTheHistoryTellsNoTime(body: String) throws {
        var (fixture, device) = try BackendFixture.withToken()
        _ = try fixture.operation()
        let type = (name: "Content-Type", value: "text/plain")
        let token = device.tokenHeader(timestamp: fixture.milliseconds)
        let list = fixture.send(
            "POST",
            "/api/auth/token/app/operation/list",
            headers: [token, type],
            body: Array(body.utf8)
        )
        #expect(list.object.array?.count == 1)
        #expect(list.json["currentTimestamp"]?.string == "2027-01-15T08:00:00+0000")
        let code = try device.codeHeader(
            .possessionKnowledge,
            uriID: "/operation/history",
            body: Array(body.utf8)
        )
        let path = "/api/auth/token/app/operation/history"
        let history = fixture.send("POST", path, headers: [code, type], body: Array(body.utf8))
        #expect(history.json.object?.keys == ["status", "responseObject"])
        #expect(history.object == list.object)
    }
}
