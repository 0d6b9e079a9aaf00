import Basics
import ExactJSON
import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenApprovals
import MobileTokenEmulator
import MobileTokenTesting
import Testing

@testable import PowerAuth

/// Number 24: nothing that holds a secret shows it, whether it is described, dumped, or looked into.
@Suite struct SecretTests {
    private static let secret = "s3cret-7Q4"

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
        Self.expectHidden(credentials, cloud, configuration, desk, server, transport, registration)
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
        let proximity = ProximityCode(operationID: "1", totp: Self.secret)
        let check = UserOperation.ProximityCheck(totp: Self.secret, source: .qrCode)
        let callback = Emulator.Callback(
            name: "n",
            url: "u",
            authentication: [.oauth2(tokenURL: "t", clientID: "c", clientSecret: Self.secret)]
        )
        let scenario = Data(#"{"callbacks": [{"name": "\#(Self.secret)"}]}"#.utf8)
        Self.expectHidden(callback.authentication, Emulator.SpaceOrigin.scenario(scenario))
        Self.expectHidden(code, request, custom, push, password, authentication, recovery, check, callback)
        Self.expectHidden(try #require(proximity))
    }

    /// Neither do values that refer to secrets, nor those that a server made.
    @Test func clientsActivationsAndServersShowNoSecrets() async throws {
        var configuration = Emulator.Configuration()
        configuration.cloudPassword = Self.secret
        try await withEmulator(configuration) { emulator in
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
            for secret in [emulator.applicationSecret, offer.activationCode, code] {
                // The latter three refer to all keys of the server.
                for value in [
                    offer, registered, client, activation, operation, operations, settings, emulator, emulator.clock,
                    emulator.faults, Emulator.SpaceOrigin.copy(of: emulator),
                ] as [Any] {
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
}
