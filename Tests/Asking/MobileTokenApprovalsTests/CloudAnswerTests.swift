import Coordination
import HTTPClientTransport
import MobileTokenCloud
import Testing

@testable import MobileTokenApprovals

/// The answers of PowerAuth Cloud as a desk takes them.
@Suite struct CloudAnswerTests {
    private struct Answering: HTTPTransport {
        let status: Int
        var headers: HTTPHeaders = [:]
        var body = ""

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            HTTPResponse(status: self.status, headers: self.headers, body: Array(self.body.utf8))
        }
    }

    private static func failure(_ transport: Answering) async -> CloudError.Kind? {
        let cloud = PacedCloud(
            CloudClient(inProcess: transport),
            requestsPerSecond: 20,
            clock: ServiceClock(ContinuousClock())
        )
        do throws(CloudError) {
            _ = try await cloud.call { try await $0.createOperation(.init(template: "deploy", userID: "alice")) }
            return nil
        } catch {
            return error.kind
        }
    }

    @Test func rule14AServerWithoutTLSIsRefused() {
        #expect(throws: CloudError.self) {
            try CloudClient(baseURL: "http://bank.example.com", credentials: .init(user: "bank", password: "bank"))
        }
    }

    @Test func rule14ARedirectIsNoAnswer() async throws {
        let kind = await Self.failure(Answering(status: 302, headers: ["Location": "https://other.test"]))
        guard case .unanswered? = kind else {
            Issue.record("\(kind as Any)")
            return
        }
    }

    @Test func rule16GarbageIsNoAnswer() async throws {
        #expect(await Self.failure(Answering(status: 200, body: "<html>")) == .unanswered(isOutcomeUnknown: true))
        #expect(await Self.failure(Answering(status: 502, body: "<html>")) == .unanswered(isOutcomeUnknown: true))
    }

    @Test func rule16OnlyTheServersOwnWordIsARefusal() async throws {
        let body = #"{"status":"ERROR","responseObject":{"code":"ERROR_REQUEST","message":"no such template"}}"#
        #expect(await Self.failure(Answering(status: 400, body: body)) == .refused)
        // The credentials may be mended: nothing is said of the question.
        let denied = #"{"status":"ERROR","responseObject":{"code":"HTTP_401","message":"who?"}}"#
        #expect(await Self.failure(Answering(status: 401, body: denied)) == .unanswered(isOutcomeUnknown: false))
    }
}
