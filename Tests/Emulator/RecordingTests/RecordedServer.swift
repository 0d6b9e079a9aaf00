import EmulatorMessages
import ExactJSON
import Foundation
import PowerAuthCrypto

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// A development server as the recordings' official servers were, with a clock that stands still but for a moment at each request.
final class RecordedServer {
    var backend: Backend
    var now = Date(milliseconds: 1_795_900_000_000)
    private var users = 0
    private let configuration: BackendConfiguration

    /// Forgets a template whose operations stay, as a row that was deleted.
    func forget(template name: String) throws {
        self.backend.state.templates[name] = nil
        self.backend = try Backend(importing: self.backend.exported(), configuration: self.configuration)
    }

    func add(_ template: JSONValue) throws {
        try self.backend.insert(OperationTemplate(parsing: template.serialized()))
    }

    /// - Parameter templates: Operation templates, a JSON document each.
    init(templates: [JSONValue] = []) throws {
        var configuration = Emulator.Configuration()
        (configuration.cloudUser, configuration.cloudPassword) = ("cloud", "secret")
        configuration.profile = .init(.v1_9)
        configuration.templates = templates.map { String(decoding: $0.serialized(), as: UTF8.self) }
        self.configuration = configuration.backend
        self.backend = try Backend(configuration: self.configuration, randomness: SeededRandomness())
    }

    var application: ApplicationDescription { self.backend.defaultApplication }

    /// Returns the answer to a request of the network.
    func reply(to request: ReceivedRequest) -> Reply {
        self.now += 0.01
        var request = request
        request.peerAddress = "127.0.0.1"
        var reply = self.backend.reply(to: request, at: self.now)
        // The server sends no body after the head that was asked for.
        if request.method == "HEAD" { reply.response.body = .bytes([]) }
        return reply
    }

    // MARK: - The bank

    /// The bank's call was refused.
    struct Refused: Error {
        let status: Int
    }

    /// Makes a call of the cloud API.
    @discardableResult
    func bank(_ method: String, _ target: String, _ body: JSONValue? = nil) throws(Refused) -> JSONValue {
        var request = ReceivedRequest(method: method, target: target)
        request.headers = [
            ("Authorization", "Basic \(Base64.encode(Array("cloud:secret".utf8)))"),
            ("Content-Type", "application/json"),
        ]
        request.body = body?.serialized() ?? []
        let reply = self.reply(to: request)
        guard (200..<300).contains(reply.status) else { throw Refused(status: reply.status) }
        return reply.json
    }

    func newUser() -> String {
        self.users += 1
        return "cf-00000-\(self.users)"  // as long as the recorded ones: lengths of encrypted claims depend on it
    }

    func commit(_ id: String, otp: String? = nil) throws(Refused) {
        try self.bank("POST", "/v2/registrations/\(id)/commit", otp.map { ["otp": .string($0)] } ?? [:])
    }

    /// - Parameter change: `BLOCK` or `UNBLOCK`.
    func change(_ id: String, _ change: String) throws(Refused) {
        try self.bank("PUT", "/v2/registrations/\(id)", ["change": .string(change)])
    }

    func remove(_ id: String) throws(Refused) { try self.bank("DELETE", "/v2/registrations/\(id)") }

    func counter(ofActivation id: String) -> JSONValue {
        self.backend.state.activations[id].map { .number(JSONNumber($0.steps)) } ?? .null
    }
}

extension Reply {
    /// The body as JSON; null when it is none.
    var json: JSONValue { (try? JSONValue(parsing: self.body)) ?? .null }

    var object: JSONValue { self.json["responseObject"] ?? .null }
}

extension JSONValue {
    init(_ string: String?) { self = string.map { .string($0) } ?? .null }

    /// Returns the value with what is in it, but for objects and arrays, replaced.
    func mapping(_ change: (JSONValue) -> JSONValue) -> JSONValue {
        switch self {
        case .object(let object): .object(object.mapValues { $0.mapping(change) })
        case .array(let elements): .array(elements.map { $0.mapping(change) })
        default: change(self)
        }
    }
}

extension JSONObject {
    func mapValues(_ change: (JSONValue) -> JSONValue) -> Self {
        Self(self.members.map { .init(key: $0.key, value: change($0.value)) })
    }
}
