import ExactJSON
import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenTesting
import Testing
import TestSupport

/// Tests of trust: clients that trust a server's TLS, and those that do not. (The whole job over TLS is among ``WholeJobTests``.)
@Suite(.timeLimit(.minutes(5))) struct TLSTests {
    private static var secure: Emulator.Configuration {
        altered(Emulator.Configuration()) { $0.tls = .selfSigned }
    }

    /// Activates with a transport of these TLS options; returns what stood in the way.
    private func obstacle(
        at emulator: Emulator,
        url: String? = nil,
        _ change: (inout CurlTransport.TLS) -> Void
    ) async throws -> MobileTokenError.Code? {
        var options = CurlTransport.Configuration()
        change(&options.tls)
        let transport = try CurlTransport(configuration: options)
        var configuration = MobileTokenClient.Configuration()
        configuration.store = ActivationStore.inMemory()
        configuration.transport = transport
        let client = try MobileTokenClient(
            baseURL: url ?? emulator.baseURL,
            sdkConfiguration: emulator.sdkConfiguration,
            configuration: configuration
        )
        let registration = try await emulator.cloud.register(userID: "alice")
        let code = try await errorCode {
            try await client.activate(code: registration.activationQRCode, password: password)
        }
        await transport.shutdown()
        return code
    }

    @Test func theCertificateInItsFileIsTrusted() async throws {
        try await withEmulator(Self.secure) { emulator in
            let certificate = try #require(emulator.certificate)
            #expect(emulator.baseURL.hasPrefix("https://127.0.0.1:"))
            #expect(emulator.cloudURL.hasPrefix("https://127.0.0.1:"))
            for url in [emulator.baseURL, emulator.baseURL.replacing("127.0.0.1", with: "localhost")] {
                let obstacle = try await self.obstacle(at: emulator, url: url) {
                    $0.validation = .certificateAuthority(file: certificate.file)
                }
                #expect(obstacle == nil, "\(url)")
            }
        }
    }

    @Test(arguments: [true, false])
    func thePinIsTrustedAndNoOther(isValidated: Bool) async throws {
        try await withEmulator(Self.secure) { emulator in
            let certificate = try #require(emulator.certificate)
            func obstacle(pin: String) async throws -> MobileTokenError.Code? {
                try await self.obstacle(at: emulator) {
                    $0.validation = isValidated ? .certificateAuthority(file: certificate.file) : .noValidation
                    $0.pinnedPublicKeys = [pin]
                }
            }
            #expect(try await obstacle(pin: certificate.publicKeyPin) == nil)
            let other = "sha256//" + Data(repeating: 7, count: 32).base64EncodedString()
            #expect(try await obstacle(pin: other) == .tlsFailed)
        }
    }

    @Test func whoKnowsNeitherRefuses() async throws {
        try await withEmulator(Self.secure) { emulator in
            let certificate = try #require(emulator.certificate)
            #expect(try await self.obstacle(at: emulator) { _ in } == .tlsFailed)
            // A pin alone is asked for in addition to an authority, not instead of one.
            let pinned = try await self.obstacle(at: emulator) { $0.pinnedPublicKeys = [certificate.publicKeyPin] }
            #expect(pinned == .tlsFailed)
            try await withEmulator(Self.secure) { other in
                let file = try #require(other.certificate).file
                let code = try await self.obstacle(at: emulator) { $0.validation = .certificateAuthority(file: file) }
                #expect(code == .tlsFailed)
            }
            #expect(await emulator.requests(to: "/pa/**").isEmpty)
        }
    }

    @Test func theFileIsGoneWhenTheServerHasStopped() async throws {
        let file = try await withEmulator(Self.secure) { emulator in
            let certificate = try #require(emulator.certificate)
            #expect(try String(contentsOfFile: certificate.file, encoding: .utf8) == certificate.pem)
            return certificate.file
        }
        #expect(!FileManager.default.fileExists(atPath: file))
        var dropped: Emulator? = try await Emulator.start(configuration: Self.secure)
        let other = try #require(dropped?.certificate).file
        #expect(other != file)
        dropped = nil
        await until { !FileManager.default.fileExists(atPath: other) }
    }

    @Test func aSeedFixesThePin() async throws {
        func pin(seed: UInt64?, password: String? = nil) async throws -> String? {
            var configuration = Self.secure
            configuration.seed = seed
            configuration.cloudPassword = password
            return try await withEmulator(configuration) { $0.certificate?.publicKeyPin }
        }
        let pin1 = try await pin(seed: 1)
        #expect(pin1 != nil)
        #expect(try await pin(seed: 1, password: "secret") == pin1)
        #expect(try await pin(seed: 2) != pin1)
        #expect(try await pin(seed: nil) != pin1)
    }

    @Test func faultsStrikeAsTheyDoWithoutIt() async throws {
        try await withEmulator(Self.secure) { emulator in
            let activation = try await emulator.makeActivation(user: "alice", password: password)
            let service = OperationsService(activation: activation)
            try await emulator.withFault(.init(reset: .after), on: "**/operation/list", first: 1) { () async throws in
                #expect(try await errorCode { try await service.operations() } == .connectionLost)
            }
            let cutOff = FaultRule.Effect(body: .truncated, drip: 2000)
            try await emulator.withFault(cutOff, on: "**/operation/list", first: 1) { () async throws in
                #expect(try await errorCode { try await service.operations() } == .connectionLost)
            }
            try await emulator.withFault(.init(drip: 2000), on: "**/operation/list", first: 1) { () async throws in
                #expect(try await service.operations() == [])
            }
        }
    }

    @Test func theControlPlaneTellsWhatToTrust() async throws {
        try await withEmulator(Self.secure) { emulator in
            let certificate = try #require(emulator.certificate)
            var options = CurlTransport.Configuration()
            options.tls.validation = .certificateAuthority(file: certificate.file)
            let transport = try CurlTransport(configuration: options)
            let url = emulator.cloudURL + "/_emulator/configuration"
            var request = HTTPRequest(.get, url: url)
            let credentials = Data("\(emulator.cloudUser):\(emulator.cloudPassword)".utf8).base64EncodedString()
            request.headers = ["Authorization": "Basic \(credentials)"]
            let answer = try await transport.send(request)
            let document = try JSONValue(parsing: answer.body)
            #expect(document["certificate"]?.string == certificate.pem)
            #expect(document["publicKeyPin"]?.string == certificate.publicKeyPin)
            #expect(document["baseURL"]?.string == emulator.baseURL)
            // Its own page may use it.
            var reset = HTTPRequest(url: emulator.cloudURL + "/_emulator/reset", body: [])
            reset.headers = ["Origin": emulator.cloudURL]
            #expect(try await transport.send(reset).status == 200)
            await transport.shutdown()
        }
    }
}
