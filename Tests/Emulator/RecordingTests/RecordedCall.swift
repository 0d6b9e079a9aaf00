import EmulatorBackend
import EmulatorMessages
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

typealias RecordedField = (name: String, value: String)

/// A request as it was sent, with its answer.
struct RecordedExchange {
    let request: ReceivedRequest
    let reply: Reply
    var content: JSONValue?
    var blob: JSONValue?

    /// The answer in the form of the recordings.
    ///
    /// - Parameter named: Replaces what has a name in the recording.
    func answer(named: (JSONValue) -> JSONValue = { $0 }) -> JSONObject {
        let json = (try? JSONValue(parsing: self.reply.body)).map(named)
        var answer: JSONObject = ["status": .number(JSONNumber(self.reply.status))]
        let error = json?["responseObject"]?.object
        answer["code"] = error?["code"].flatMap { $0.isNull ? nil : $0 }
        answer["message"] = error?["message"].flatMap { $0.isNull ? nil : RecordingComparison.normalized($0) }
        answer["answer"] = RecordingComparison.puttingAside(self.body(json, named))
        let headers = self.comparedHeaders
        if !headers.members.isEmpty { answer["headers"] = .object(headers) }
        answer["blob"] = self.blob
        return answer
    }

    private func body(_ json: JSONValue?, _ named: (JSONValue) -> JSONValue) -> JSONValue {
        if let content = self.content { return ["decrypted": RecordingComparison.normalized(named(content))] }
        guard let json, !json.isNull else {
            guard !self.reply.body.isEmpty else { return "" }
            let text = String(decoding: self.reply.body.prefix(120), as: UTF8.self)
            return .string("<text \(self.reply.body.count)> \(text)")
        }
        let normalized = RecordingComparison.normalized(json)
        guard let error = normalized["responseObject"]?.object, error["code"].map({ !$0.isNull }) == true else {
            return normalized
        }
        var body = normalized.object ?? [:]
        body["responseObject"] = nil
        for member in error.members where !["code", "message"].contains(member.key) {
            body["+" + member.key] = member.value
        }
        return .object(body)
    }

    private var comparedHeaders: JSONObject {
        var headers: JSONObject = [:]
        for (name, value) in self.reply.headers where RecordingComparison.headers.contains(name.lowercased()) {
            headers[name.lowercased()] = .string(value.replacing(";charset=UTF-8", with: ""))
        }
        if headers["content-type"] == "application/json" { headers["content-type"] = nil }
        return headers
    }
}

/// A call of a device, with what is wrong about it. All is right by default.
struct RecordedCall {
    var method = "POST"
    /// The version of the envelope and of the token's digest; that of the device by default.
    var version: ProtocolVersion?
    var factors = SignatureType.possessionKnowledge
    /// The number of counters that are skipped; negative for counters that were used before.
    var ahead = 0
    /// Signs with a wrong key of the last factor.
    var isWrong = false
    /// The headers beside those of the protocol.
    var common: [RecordedField] = [("Accept", "application/json"), ("Accept-Language", "en"), ("User-Agent", "replay")]
    /// The header lines as they were recorded: their placeholders stand for the right values.
    var headers: [String]?
    /// Values that take the place of the right ones in the headers.
    var values: [String: String] = [:]
    /// The fields that the headers lack.
    var missing: Set<String> = []
    /// The way in which a header is written: `ios`, `android`, or another one.
    var style = "ios"
    /// The value in the headers that is written without the padding of Base64.
    var unpadded: String?
    var contentType: String? = "application/json"
    /// The secret that ends the signed data.
    var secret: ApplicationSecret?
    var nonce: [UInt8]?
    /// The time that the token's digest covers.
    var tokenTime: Milliseconds?
    var signedBody: [UInt8]?
    var signedMethod: String?
    /// Signs the content in place of the envelope, or the envelope in place of the content.
    var signsContent: Bool?
    var envelope = RecordedEnvelope()
    /// Changes the body after it was signed.
    var tamper: ([UInt8]) -> [UInt8] = { $0 }

    init(_ factors: SignatureType = .possessionKnowledge, version: ProtocolVersion? = nil) {
        (self.factors, self.version) = (factors, version)
    }
}

/// An envelope, with what is wrong about it. All is right by default.
struct RecordedEnvelope {
    var version: ProtocolVersion?
    var purpose: ECIESPurpose?
    var content: [UInt8]?
    var time: Milliseconds?
    var ephemeralKey: P256PrivateKey?
    var form = P256PublicKey.Form.compressed
    var applicationKey: String?
    var secret: ApplicationSecret?
    /// Returns whether the random values of an envelope will do.
    var isWanted: (JSONObject) -> Bool = { _ in true }
    /// Returns the body: the envelope with what is wrong about it.
    var change: (JSONObject) throws -> [UInt8] = { JSONValue.object($0).serialized() }
}

/// The text of a recorded header: a template whose placeholders stand for the right values.
enum RecordedTemplate {
    /// Replaces each placeholder after the name of a field, and each value that a right one was when it was recorded.
    static func filled(_ text: String, _ values: [String: String]) -> String {
        // An identifier in capitals, a decimal signature and a time differ from run to run as well.
        let field =
            #/([A-Za-z_]+)(\s?=\s?["']*[-0]?)(<[a-z0-9:]+>|[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}|[0-9]{8}(?:-[0-9]{8})+|1795[0-9]{9})/#
        return text.replacing(field) { match in
            let (name, old) = (String(match.1), match.3)
            guard let right = values[name], old != "00000000-0000-0000-0000-000000000000" else {
                return String(match.0)
            }
            let value =
                old.hasPrefix("<") || name == "timestamp"
                ? right : name == "pa_signature" ? values["decimal"] ?? right : right.uppercased()
            return "\(name)\(match.2)\(value)"
        }
    }

    /// Writes the fields of a header: the first two ways are those of the official clients.
    static func written(_ fields: [RecordedField], in style: String) -> String {
        let quoted = fields.map { "\($0.name)=\"\($0.value)\"" }
        return switch style {
        case "android": "PowerAuth " + quoted.joined(separator: " ")
        case "tight": "PowerAuth " + quoted.joined(separator: ",")
        case "loose": "PowerAuth    " + quoted.joined(separator: " ,   ") + " , "
        case "tabs": "PowerAuth " + quoted.joined(separator: ",\t")
        case "reversed": "PowerAuth " + quoted.reversed().joined(separator: ", ")
        case "extra": "PowerAuth " + (["x=\"y\""] + quoted + ["zz=\"1\""]).joined(separator: ", ")
        case "doubled": "PowerAuth " + fields.map { "\($0.name)=\"\"\($0.value)\"\"" }.joined(separator: ", ")
        case "unquoted": "PowerAuth " + fields.map { "\($0.name)=\($0.value)" }.joined(separator: " ")
        case "lowercase": "powerauth " + quoted.joined(separator: ", ")
        case "noscheme": quoted.joined(separator: ", ")
        case "single": "PowerAuth " + fields.map { "\($0.name)='\($0.value)'" }.joined(separator: ", ")
        case "spaced": "PowerAuth " + fields.map { "\($0.name) = \"\($0.value)\"" }.joined(separator: ", ")
        default: "PowerAuth " + quoted.joined(separator: ", ")
        }
    }
}
