import Basics
import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenApprovals
import MobileTokenNotifications
import MobileTokenOffline
import MobileTokenScreens
import MobileTokenTesting
import Synchronization
import TestSupport
import Testing

@testable import PowerAuth
@testable import PowerAuthClient

/// Number 24: nothing that holds a secret shows it, whether it is described, dumped, or looked into.
@Suite struct SecretTests {
    private static let secret = "s3cret-7Q4"
    /// The types whose values were looked at.
    private static let types = Mutex<Set<String>>([])

    /// Every way in which a value comes into a log.
    private static func texts(of value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        var (texts, rest) = ([String(describing: value), String(reflecting: value), "\([value])", dumped], [value])
        while let value = rest.popLast(), texts.count < 10_000 {
            for child in Mirror(reflecting: value).children {
                texts.append(String(describing: child.value))
                rest.append(child.value)
            }
        }
        return texts
    }

    private static func expectHidden(_ values: Any..., sourceLocation: SourceLocation = #_sourceLocation) {
        let base64 = Data("bank:\(self.secret)".utf8).base64EncodedString()
        for value in values {
            self.types.withLock { _ = $0.insert(String(reflecting: type(of: value))) }
            let shown = self.texts(of: value).filter { $0.contains(self.secret) || $0.contains(base64) }
            #expect(shown.isEmpty, "\(type(of: value)): \(shown.first ?? "")", sourceLocation: sourceLocation)
        }
    }

    @Test func aMaskedValueIsAsterisks() {
        let masked = Masked(Self.secret)
        #expect("\(masked)" == "***" && String(reflecting: masked) == "***" && masked.value == Self.secret)
        Self.expectHidden(masked, ["a": masked], [Masked<String?>(Self.secret)])
    }

    @Test func requestsAndResponsesShowNoCredentials() {
        let headers: HTTPHeaders = [
            "Authorization": "Basic \(Self.secret)", "Cookie": Self.secret, "X-PowerAuth-Authorization": Self.secret,
            "Content-Type": "application/json",
        ]
        let body = Array(Self.secret.utf8)
        let request = HTTPRequest(url: "https://bank/a?token=\(Self.secret)", headers: headers, body: body)
        Self.expectHidden(request, headers, headers.fields, HTTPResponse(status: 200, headers: headers, body: body))
        #expect("\(request)".hasPrefix("POST https://bank/a?*** [Authorization: ***, Cookie: ***"))
        #expect("\(headers)".contains("Content-Type: application/json"))
    }

    @Test func clientsAndDesksShowNoCredentials() async throws {
        let credentials = CloudClient.Credentials(user: "bank", password: Self.secret)
        let cloud = try CloudClient(baseURL: "https://cloud.test", credentials: credentials)
        var configuration = ApprovalDesk.Configuration()
        configuration.callbackPassword = Self.secret
        let desk = try await ApprovalDesk(
            audience: "test",
            cloud: cloud,
            ledger: .inMemory(),
            configuration: configuration
        )
        var server = Emulator.Configuration()
        server.cloudPassword = Self.secret
        var transport = CurlTransport.Configuration()
        transport.proxy = .url("http://user:\(Self.secret)@proxy")
        transport.tls.clientCertificate = .init(certificateFile: "c", privateKeyFile: "k", password: Self.secret)
        var registration = CloudClient.NewRegistration(userID: "alice")
        registration.otp = Self.secret
        Self.expectHidden(credentials, cloud, configuration, desk, server, transport, registration, transport.tls)
        Self.expectHidden(try #require(transport.tls.clientCertificate))
        transport.tls.clientCertificate = nil
        Self.expectHidden(try CurlTransport(configuration: transport))
        #expect(configuration.callbackPassword == Self.secret && server.cloudPassword == Self.secret)
    }

    @Test func codesAndPasswordsShowNothing() throws {
        let code = Activation.TransferCode(
            activationID: "a",
            activationCode: Self.secret,
            qrCodeContent: "\(Self.secret)#x"
        )
        var request = ActivationRequest(recoveryCode: Self.secret, puk: Self.secret)
        request.otp = Self.secret
        let custom = try ActivationRequest(identityAttributes: ["password": Self.secret])
        let push = PushService.Registration(platform: .apns, token: Self.secret)
        let password = SecretBytes(copying: Array(Self.secret.utf8))
        let authentication = Activation.Authentication.possessionAndKnowledge(password: Self.secret)
        let recovery = ActivationResult.RecoveryCodes(code: Self.secret, puk: Self.secret)
        let result = RequestAuthentication.signature(uriID: "/a", authentication)
        let proximity = ProximityCode(operationID: "1", totp: Self.secret)
        let check = UserOperation.ProximityCheck(totp: Self.secret, source: .qrCode)
        let callback = Emulator.Callback(
            name: "n",
            url: "u",
            authentication: [
                .basic(user: "bank", password: Self.secret),
                .oauth2(tokenURL: "t", clientID: "c", clientSecret: Self.secret),
            ]
        )
        Self.expectHidden(code, request, custom, push, password, authentication, recovery, check, callback)
        let local = LocalOperation(id: "1", data: "A1", proximityCheck: check)
        let data = try #require(UserOperation.SignedData(parsing: "A1*A1CZK"))
        let offline = OfflineOperation(
            id: "1",
            title: "t",
            message: "m",
            operationData: data,
            totp: Self.secret,
            nonce: "n"
        )
        Self.expectHidden(try #require(proximity), local, offline, result, callback.authentication)
    }

    /// Neither do values that refer to secrets, nor those that a server made.
    @Test func clientsActivationsAndServersShowNoSecrets() async throws {
        try await withEmulator(altered(Emulator.Configuration()) { $0.cloudPassword = Self.secret }) { emulator in
            let client = try emulator.makeClient()
            let offer = try await emulator.cloud.register(userID: "alice")
            let registered = await emulator.activations()
            let activation = try await client.activate(code: offer.activationQRCode, password: Self.secret)
            try await emulator.cloud.commitRegistration(offer.id)
            try await PushService(activation: activation).register(token: Self.secret, for: .fcm)
            let operation = try await emulator.cloud.createOperation(
                "login",
                userID: "alice",
                demandsProximityCheck: true
            )
            let code = try #require(operation.proximityCode)
            let settings = try SDKConfiguration(parsing: emulator.sdkConfiguration)
            let (operations, pushes) = await (emulator.operations(), emulator.pushes())
            let service = OperationsService(activation: activation)
            let list = try await service.fetchList()
            let listed = try #require(list.operations.first)
            let store = ActivationStore.inMemory()
            let held: [Any] = [
                service, list, listed, OperationReview(of: listed), client.configuration, client.makeFleet(), store,
                client.receipts(), emulator.clock, emulator.faults, Emulator.SpaceOrigin.copy(of: emulator),
                Emulator.SpaceOrigin.scenario(Data(#"{"callbacks": [{"name": "\#(Self.secret)"}]}"#.utf8)),
                ExpirationWatcher(activation: activation), PushService(activation: activation),
                try await activation.unlockKnowledge(password: Self.secret),
                try await activation.beginPasswordChange(from: SecretBytes(copying: Array(Self.secret.utf8))),
                try await emulator.cloud.registration(offer.id).value,
                try await emulator.cloud.application(emulator.applicationID).value,
            ]
            Self.expectHidden(held)
            for secret in [emulator.applicationSecret, offer.activationCode, code] {
                for value in [offer, registered, client, activation, operation, operations, settings, emulator] + held {
                    Self.types.withLock { _ = $0.insert(String(reflecting: type(of: value))) }
                    let shown = Self.texts(of: value).contains { $0.contains(secret) }
                    #expect(!shown, "\(type(of: value))")
                }
            }
            Self.expectHidden(client, activation, emulator, emulator.cloud, await emulator.activations(), pushes)
            #expect(!pushes.isEmpty)
        }
    }

    @Test func operationsAndMessagesShowNoContent() throws {
        let secret = Self.secret
        let money = UserOperation.Attribute.Money(
            amount: 1,
            currency: secret,
            amountFormatted: secret,
            currencyFormatted: secret,
            valueFormatted: secret
        )
        let party = UserOperation.Attribute.PartyInfo(logoURL: secret, name: secret, description: secret)
        let alert = UserOperation.Attribute.Alert(kind: .info, title: secret, message: secret)
        let contents: [UserOperation.Attribute.Content] = [
            .amount(money), .partyInfo(party), .alert(alert), .note(secret),
        ]
        let form = OperationForm(
            title: secret,
            message: secret,
            resultTexts: .init(success: secret, failure: secret, reject: secret),
            attributes: contents.map { .init(id: secret, label: secret, content: $0) }
        )
        let operation = UserOperation(id: "1", name: "pay", data: secret, formData: form)
        let message = InboxMessage(
            id: "1",
            subject: secret,
            summary: secret,
            body: secret,
            isRead: false,
            created: Date()
        )
        Self.expectHidden(operation, form, money, party, alert, message, form.resultTexts as Any)
        for content in contents { Self.expectHidden(content) }
        for attribute in form.attributes { Self.expectHidden(attribute) }
    }

    // MARK: No type is forgotten

    /// Public types that hold a secret, and need no value here.
    private static let exceptions = [
        // They hold an activation, a store or a desk, which are looked at.
        "ActivationResult", "ApprovalAgent", "ApprovalTicket",
        "PostgresFleetMembership",
        // They hold operations, lists and reviews, which are looked at.
        "ApprovalAgent.DryRun", "ApprovalAgent.DryRun.Line", "ApprovalAgent.Event", "OperationList.Change",
        "OperationList.Change.Removal", "OperationList.Change.Update", "OperationsFleet.Change",
        "OperationsFleet.Event", "OperationsService.Event",
        // They show a fixed text and an empty mirror.
        "OIDCAuthorization", "OfflineOperation.Unverified",
    ]

    /// A public type with a secret in it, whether in its own member or in that of a member, is one whose values are looked at.
    @Test func noPublicTypeWithASecretIsForgotten() async throws {
        self.requestsAndResponsesShowNoCredentials()
        try await self.clientsAndDesksShowNoCredentials()
        try self.codesAndPasswordsShowNothing()
        try await self.clientsActivationsAndServersShowNoSecrets()
        let seen = Self.types.withLock { $0 }
        let holding = try SourceType.holdingSecrets()
        #expect(holding.count > 50)
        let forgotten = holding.filter { name in
            !seen.contains { $0.hasSuffix("." + name) || $0.hasSuffix(".\(name)>") }
        }
        #expect(forgotten == Self.exceptions.sorted())
    }
}

private struct SourceType {
    var isPublic = false
    /// The lines of its stored members and cases.
    var members: [Substring] = []

    /// The libraries' types by name, such as `CloudClient.Credentials`. Members are known by indentation, which the formatter sets.
    static func all() throws -> [String: Self] {
        let root = URL(filePath: #filePath).appending(path: "../../../../Sources").standardized
        let files = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
        let declaration = /((?:[@a-z]\S* )*?)(?:struct|class|actor|enum|extension) ([A-Z][\w.]*).*[^}]/
        let member = /(?!.*(?:static |->))(?:[@a-z]\S* )*?(?:let|var|case) [^{]*(?:=.*)?/
        var types: [String: Self] = [:]
        for file in files where file.hasSuffix(".swift") && !file.hasPrefix("Programs/") {
            var around: [(depth: Int, name: String)] = []
            for line in try String(contentsOf: root.appending(path: file), encoding: .utf8).split(separator: "\n") {
                let text = line.drop { $0 == " " }
                let depth = line.utf8.count - text.utf8.count
                if text.hasPrefix("}"), around.last?.depth == depth { around.removeLast() }
                if let found = text.wholeMatch(of: declaration) {
                    around.append((depth, (around.last.map { $0.name + "." } ?? "") + found.2))
                    if found.1.contains("public ") { types[around.last?.name ?? "", default: .init()].isPublic = true }
                } else if let type = around.last, depth == type.depth + 4, text.wholeMatch(of: member) != nil {
                    types[type.name, default: .init()].members.append(text)
                }
            }
        }
        return types
    }

    /// The names of public types that hold a secret: by its type, as text with the name of one, or through a member.
    static func holdingSecrets() throws -> [String] {
        let types = try Self.all()
        let names = "(?i:password|secret|privatekey|passphrase|puk|otp|recoverycode|activationcode|qrcode|token)"
        let secret = try Regex("\\b(SecretBytes|Masked)\\b|\(names)\\w*: \\[?(String|UInt8|Data|JSONValue)")
        var (holders, rest): ([String: Set<String>], [String]) = ([:], [])
        for (whole, type) in types {
            if type.members.contains(where: { $0.contains(secret) }) { rest.append(whole) }
            let scopes = whole.split(separator: ".")
            for name in type.members.flatMap({ $0.matches(of: /\b[A-Z]\w*(?:\.[A-Z]\w*)*/).map(\.0) }) {
                let part = (0...scopes.count).reversed().lazy
                    .map { (scopes.prefix($0) + [name]).joined(separator: ".") }.first { types[$0] != nil }
                if let part { holders[part, default: []].insert(whole) }
            }
        }
        var holding = Set(rest)
        while let part = rest.popLast() { rest += (holders[part] ?? []).filter { holding.insert($0).inserted } }
        return holding.filter { types[$0]?.isPublic == true }.sorted()
    }
}
