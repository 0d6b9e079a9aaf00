import Coordination
import HTTPClientTransport
import Testing

@testable import MobileTokenApprovals

/// The answers of PowerAuth Cloud as a desk takes them.
@Suite struct CloudAnswerTests {
    /// Rules 14 and 16: a redirect and garbage are no answers, and only the server's own word is a refusal. Credentials may be mended, so
    /// that nothing is said of the question.
    @Test(
        arguments: [
            (302, "", .unanswered(isOutcomeUnknown: true)), (200, "<html>", .unanswered(isOutcomeUnknown: true)),
            (502, "<html>", .unanswered(isOutcomeUnknown: true)), (400, "ERROR_REQUEST", .refused),
            (401, "HTTP_401", .unanswered(isOutcomeUnknown: false)),
        ] as [(Int, String, CloudError.Kind)]
    )
    func onlyTheServersOwnWordIsARefusal(_ status: Int, _ said: String, _ kind: CloudError.Kind) async throws {
        let body = #"{"status":"ERROR","responseObject":{"code":"\#(said)","message":"no"}}"#
        let response = HTTPResponse(status: status, body: Array((status < 400 || status > 499 ? said : body).utf8))
        let cloud = PacedCloud(
            CloudClient(inProcess: Answering(response: response)),
            requestsPerSecond: 20,
            clock: ServiceClock(ContinuousClock())
        )
        let error = await #expect(throws: CloudError.self) {
            _ = try await cloud.call { try await $0.createOperation(.init(template: "deploy", userID: "alice")) }
        }
        #expect(error?.kind == kind)
    }
}

private struct Answering: HTTPTransport {
    let response: HTTPResponse

    func send(_ request: HTTPRequest) async throws -> HTTPResponse { self.response }
}
