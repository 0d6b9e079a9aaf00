internal import Foundation

/// A request as the backend sees it.
struct ReceivedRequest: Sendable {
    /// In capitals, as sent.
    var method: String
    /// Without the query and without the optional `/enrollment-server` prefix; percent-encoding is as sent.
    var path: String
    /// The query as sent, without its question mark; empty when there is none.
    var rawQuery: String = ""
    /// The pairs of the query in their order, form-decoded.
    var query: [(name: String, value: String)] = []
    /// The header fields in their order.
    var headers: [(name: String, value: String)] = []
    /// The whole body.
    var body: [UInt8] = []
    /// Where the server is found, `http://127.0.0.1:49152`; `nil` when nobody said.
    var origin: String?

    /// The first header field of this name; case does not matter.
    func header(_ name: String) -> String? {
        self.headers.first { $0.name.caseInsensitiveEquals(name) }?.value
    }

    /// The first value of this name in the query.
    func queryValue(_ name: String) -> String? {
        self.query.first { $0.name == name }?.value
    }
}

/// An answer, with what the journal says of it.
struct Reply: Sendable {
    var status: Int
    var headers: [(name: String, value: String)] = [("Content-Type", "application/json")]
    var body: [UInt8] = []
    /// Whether the request did what it asked for; the reason of a refusal is for the reader of the journal, and may
    /// say more than the answer does.
    var verdict: Verdict = .accepted
    /// The activation that the request named, whether or not it proved to be it.
    var activationID: String?
    /// The activation's counter before the request, when the request was one that may move it.
    var counterBefore: UInt64?
    /// The activation's counter after the request.
    var counterAfter: UInt64?
    /// What changed.
    var events: [BackendEvent] = []
}

/// What became of a request.
enum Verdict: Sendable, Hashable {
    case accepted
    case refused(reason: String)
}

/// One thing that changed in the backend's state.
struct BackendEvent: Sendable, Hashable {
    enum Subject: String, Sendable, Hashable {
        case activation, operation, message, device
    }

    var subject: Subject
    /// Of the activation, the operation, …
    var id: String
    /// Its status now, in the words of the `/v2` API (`ACTIVE`, `PENDING`, …), if it has one.
    var status: String?
}

/// An intervention that no client can make: what an administrator of a real server could do.
enum AdministrativeChange: Sendable {
    case block(activationID: String)
    case unblock(activationID: String)
    case remove(activationID: String)
    /// Moves the server's counter by steps of the hash chain, forwards only: the chain has no way back.
    case advanceCounter(activationID: String, by: UInt64)
}

/// Why an administrative change, or an import, was not made.
struct AdministrationError: Error {
    enum Code: Sendable {
        case unknownActivation
        case wrongState
        case invalidDocument
    }

    var code: Code
    var message: String
}

/// The application that clients are configured for.
struct ApplicationDescription: Sendable {
    /// As `appId` in the `/v2` API.
    var id: String
    /// Base64 of 16 bytes.
    var key: String
    /// Base64 of 16 bytes.
    var secret: String
    /// Base64 of the uncompressed X9.62 point, 65 bytes, as it stands in the SDK configuration too.
    var masterServerPublicKey: String
}

/// Where identifiers, keys and nonces come from: the system's generator, or a fixed sequence for a reproducible server.
struct Randomness: Sendable, Equatable, RandomNumberGenerator, Codable {
    /// The state of the fixed sequence; `nil` for the system's generator.
    private var state: UInt64?

    /// - Parameter seed: Fixes the sequence. Such a server has no secrets: use it in tests only.
    init(seed: UInt64? = nil) {
        self.state = seed
    }

    mutating func next() -> UInt64 {
        guard let state = self.state else {
            var system = SystemRandomNumberGenerator()
            return system.next()
        }
        // SplitMix64: every seed gives a sequence of full period.
        let next = state &+ 0x9E37_79B9_7F4A_7C15
        self.state = next
        var mixed = (next ^ (next >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &self) }
    }

    /// A random UUID, in the lower case that the server uses for its identifiers.
    mutating func identifier() -> String {
        var bytes = self.bytes(16)
        bytes[6] = bytes[6] & 0x0F | 0x40
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let groups = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32]
        return groups.map { String(digits.dropFirst($0.lowerBound).prefix($0.count)) }.joined(separator: "-")
    }
}

extension StringProtocol {
    /// ASCII comparison, as header field names need it.
    func caseInsensitiveEquals(_ other: some StringProtocol) -> Bool {
        self.utf8.elementsEqual(other.utf8) { one, two in
            one == two || (one ^ two == 0x20 && (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(one | 0x20))
        }
    }
}
