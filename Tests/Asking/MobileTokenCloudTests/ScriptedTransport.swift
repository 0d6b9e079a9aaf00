import HTTPClientTransport
import MobileTokenCloud
import TestSupport

/// A transport that answers from a script, and keeps what was sent.
final class ScriptedTransport: HTTPTransport {
    enum Answer {
        case response(HTTPResponse)
        case failure(any Error)

        static func json(_ status: Int, _ body: String, headers: HTTPHeaders = [:]) -> Self {
            .response(HTTPResponse(status: status, headers: headers, body: Array(body.utf8)))
        }

        static func failure(_ code: HTTPTransportError.Code) -> Self { .failure(HTTPTransportError(code)) }
    }

    private let script: Shared<[Answer]>
    private let sent = Shared<[HTTPRequest]>([])

    init(_ answers: Answer...) { self.script = Shared(answers) }

    var requests: [HTTPRequest] { self.sent.value }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        self.sent.update { $0.append(request) }
        switch self.script.update({ $0.isEmpty ? nil : $0.removeFirst() }) {
        case .response(let response)?: return response
        case .failure(let error)?: throw error
        case nil: throw HTTPTransportError(.shutdown, detail: "the script is over")
        }
    }
}

extension CloudClient {
    /// A client that sends reads once, unless told otherwise.
    convenience init(_ transport: ScriptedTransport, _ change: (inout Configuration) -> Void = { $0.readAttempts = 1 })
        throws
    {
        var configuration = Configuration()
        configuration.transport = transport
        change(&configuration)
        try self.init(
            baseURL: "https://cloud.example.com/powerauth-cloud/",
            credentials: Credentials(user: "bank", password: "secret"),
            configuration: configuration
        )
    }
}

/// The error that a call of the client ends with.
func cloudError<Value>(_ body: () async throws -> Value) async throws -> CloudError {
    do { _ = try await body() } catch let error as CloudError { return error }
    throw NoError()
}

struct NoError: Error {}
