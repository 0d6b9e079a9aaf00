import Foundation
import HTTPClientTransport
import MobileToken
import PowerAuth
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct MobileTokenClientTests {
    /// Sixteen bytes each of key and secret, and the base point of P-256, which is a public key like any other.
    private static let sdkConfiguration: String = {
        let point: [UInt8] = [
            0x03, 0x6B, 0x17, 0xD1, 0xF2, 0xE1, 0x2C, 0x42, 0x47, 0xF8, 0xBC, 0xE6, 0xE5, 0x63, 0xA4, 0x40, 0xF2,
            0x77, 0x03, 0x7D, 0x81, 0x2D, 0xEB, 0x33, 0xA0, 0xF4, 0xA1, 0x39, 0x45, 0xD8, 0x98, 0xC2, 0x96,
        ]
        let key = [16] + [UInt8](0..<16)
        return Data([1] + key + key + [1, 1, 33] + point).base64EncodedString()
    }()

    private final class RecordingTransport: HTTPTransport {
        private let recorded = Mutex<[HTTPRequest]>([])

        var requests: [HTTPRequest] { self.recorded.withLock { $0 } }

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            self.recorded.withLock { $0.append(request) }
            return HTTPResponse(status: 503)
        }
    }

    private let transport = RecordingTransport()

    private func makeClient(
        baseURL: String = "https://example.com/enrollment",
        _ change: (inout MobileTokenClient.Configuration) -> Void = { _ in }
    ) throws -> MobileTokenClient {
        var configuration = MobileTokenClient.Configuration()
        configuration.transport = self.transport
        configuration.store = ActivationStore.inMemory()
        change(&configuration)
        return try MobileTokenClient(
            baseURL: baseURL,
            sdkConfiguration: Self.sdkConfiguration,
            configuration: configuration
        )
    }

    @Test func protocolRequestsGoToTheirOwnAddressWhenThereIsOne() async throws {
        for powerAuthURL in [nil, "https://pa.example.com/server"] {
            let client = try self.makeClient {
                $0.powerAuthURL = powerAuthURL
                $0.userAgent = "bot/1"
            }
            await #expect(throws: MobileTokenError.self) {
                try await client.activate(code: "W65WE-3T7VI-7FBS2-A4OYA", password: "1234")
            }
            let last = self.transport.requests.last
            #expect(last?.url.hasPrefix((powerAuthURL ?? "https://example.com/enrollment") + "/pa/v3/") == true)
            #expect(last?.headers["User-Agent"] == "bot/1")
        }
    }

    @Test func anEmptyStoreHoldsNoActivation() async throws {
        let client = try self.makeClient()
        #expect(try await client.activations().isEmpty)
        let error = await #expect(throws: MobileTokenError.self) { try await client.activation(id: "unknown") }
        #expect(error?.code == .unknownActivation)
        #expect(self.transport.requests.isEmpty)
    }

    @Test func runReturnsWhenItIsCancelled() async throws {
        let client = try self.makeClient()
        let running = Task { try await client.run() }
        running.cancel()
        try await running.value
    }
}
