import EmulatorBackend
import ExactJSON
import Foundation
import PowerAuthCrypto
import PowerAuthProtocol

// The mistakes in a request that the recorded one does not show: the name of the case says them.

extension CoreCase {
    private static let paths = [
        "info": "/pa/v3/user/info", "detail": "/pa/v3/activation/detail", "rename": "/pa/v3/activation/rename",
        "vault": "/pa/v3/vault/unlock", "remove": "/pa/v3/activation/remove", "validate": "/pa/v3/signature/validate",
        "validateGET": "/pa/v3/signature/validate", "recovery": "/pa/v3/recovery/confirm",
        "create": "/pa/v3/activation/create",
    ]

    /// Changes the call of a step. A case whose name is of no known kind is not performed.
    func change(_ call: inout RecordedCall, _ index: Int) throws {
        let path = self.steps[index]["request"]?["path"]?.string ?? ""
        switch self.area {
        case "header", "state": try self.changeHeader(&call, index)
        case "envelope", "time", "order", "keys", "plaintext", "temporary key":
            let words = self.name.split(separator: " ")
            let endpoint =
                self.name.hasPrefix("order of code") ? String(words.dropFirst(5).first ?? "") : String(words[0])
            if let member = self.name.wholeMatch(of: #/\S+ (\w+) in the url-safe alphabet/#).map({ String($0.1) }) {
                guard index == 0 else { break }
                call.envelope.content = Array("{}".utf8)
                call.envelope.isWanted = { $0[member]?.string?.contains { "+/".contains($0) } ?? false }
                call.envelope.change = { envelope in
                    let value = envelope[member]?.string?.replacing("+", with: "-").replacing("/", with: "_")
                    return Self.setting(member, JSONValue(value))(envelope)
                }
                break
            }
            if path == Self.paths[endpoint.trimmingCharacters(in: [":"])] ?? "/pa/v3/\(endpoint)" {
                try self.changeEnvelope(&call)
            }
        case "token": try self.changeToken(&call)
        case "failures", "counter": try self.changeCode(&call, index)
        case "mixed versions":
            // The digest of another version than the header names; that of 3.0 is that of 3.1.
            let digests: [Int: ProtocolVersion] = [1: .v3_1, 2: .v3_3]
            if self.name.hasPrefix("token made in"), let version = digests[index] { call.version = version }
        case "encryption header":
            guard !self.name.hasPrefix("info with a ") else { throw NotPerformed(reason: "a signature beside") }
            if self.name.contains("key foreign") { call.values["application_key"] = try self.foreign().key }
            if self.name.contains("key unknown") { call.values["application_key"] = Self.ones(16) }
            if self.name.contains("key 15 bytes") { call.values["application_key"] = Self.ones(15) }
            if self.name.contains("activation unknown") { call.values["activation_id"] = Self.unknownID }
        case "signed body" where self.name.contains(" 2 MB"): throw NotPerformed(reason: "it is about HTTP")
        case "signed body": if self.name.contains(" wrong code, ") { call.isWrong = true }
        case "size", "vault":
            guard let count = self.name.firstMatch(of: #/(\d+) (bytes|characters)/#).flatMap({ Int($0.1) }) else {
                break
            }
            if self.area == "vault", index == 0 {
                call.envelope.content = Array("{\"reason\":\"\(String(repeating: "a", count: count))\"}".utf8)
            }
            if self.name.hasPrefix("info") {
                call.envelope.content = [UInt8](repeating: 0x20, count: count) + Array("{}".utf8)
            }
        case "replay" where self.name == "info same ephemeral key, another nonce":
            call.envelope.content = Array("{}".utf8)
            call.envelope.ephemeralKey = try P256PrivateKey(
                scalar: SecretBytes(copying: [UInt8](repeating: 1, count: 32))
            )
        case "upgrade":
            if self.name.contains("broken") { call.envelope.change = Self.setting("mac", .string(Self.ones(32))) }
        case "query" where self.name.contains("POST with query"): call.signedBody = Array("{}".utf8)
        case "method" where self.name.contains("signed as POST"): throw NotPerformed(reason: "signed by another method")
        case "factors":
            // Between the calls that are shown, each with its status, a right code resets the failures.
            if self.name.hasSuffix(" wrong") { call.isWrong = path != "/pa/v3/activation/status" }
            if index > 0, path != "/pa/v3/activation/status" || index == self.steps.count - 1 {
                let hidden = self.device.log.count
                try self.device.validate()
                self.device.log.removeSubrange(hidden...)
            }
        case "transfer"
        where !["no Host", "X-Correlation-ID", "7 kB header", "Accept-Encoding gzip"].contains(self.name):
            throw NotPerformed(reason: "it is about HTTP")
        case "recovery", "fingerprint", "users", "expiry":
            throw NotPerformed(reason: "the area \(self.area)")
        case "create": try self.changeLayer(&call)
        case "answer envelope", "application versions", "body", "content type", "flags", "method", "query", "replay",
            "status", "transfer":
            break
        default: throw NotPerformed(reason: "the area \(self.area)")
        }
    }

    // MARK: - Headers

    private func changeHeader(_ call: inout RecordedCall, _ index: Int) throws {
        guard index == 0 else { return }
        let parts = self.name.components(separatedBy: " / ")
        guard parts.count > 1 else {
            guard self.setup.contains("temporary key fetched") else { throw NotPerformed(reason: "hidden steps") }
            return
        }
        let label = parts[1]
        switch label {
        case "nonce 15 bytes": call.values["pa_nonce"] = Self.ones(15)
        case "nonce 17 bytes": call.values["pa_nonce"] = Self.ones(17)
        case "nonce other": call.values["pa_nonce"] = Self.ones(16)
        case "nonce url-safe": call.nonce = [UInt8]((0..<8).flatMap { _ in [0xFB, 0xFF] as [UInt8] })
        case "nonce without padding": call.unpadded = "pa_nonce"
        case "signature no padding": call.unpadded = "pa_signature"
        case "app key no padding": call.unpadded = "pa_application_key"
        case "signature 64 chars of ff": call.values["pa_signature"] = String(repeating: "f", count: 64)
        case "signature 10000 chars": call.values["pa_signature"] = String(repeating: "A", count: 6000)
        case "app key unknown", "app key unknown, secret right": call.values["pa_application_key"] = Self.ones(16)
        case "app key 15 bytes": call.values["pa_application_key"] = Self.ones(15)
        case "activation unknown": call.values["pa_activation_id"] = Self.unknownID
        case "activation without dashes": call.values["pa_activation_id"] = self.device.id.replacing("-", with: "")
        case "wrong secret": call.secret = ApplicationSecret(base64: Self.ones(16))
        case "foreign application": self.device.application = try self.foreign()
        case _ where label == "wrong code" || label.hasSuffix(" wrong"): call.isWrong = true
        default:
            if let count = label.wholeMatch(of: #/signature (\d+) bytes/#).flatMap({ Int($0.1) }) {
                call.values["pa_signature"] = Self.ones(count)
            }
            if let ahead = label.wholeMatch(of: #/counter \+(\d+)/#).flatMap({ Int($0.1) }) { call.ahead = ahead }
        }
    }

    static func unpadded(_ string: String) -> String { String(string.prefix { $0 != "=" }) }

    func foreign() throws -> (key: String, secret: ApplicationSecret) {
        if let made = self.foreignApplication { return made }
        let made = try self.server.bank("POST", "/admin/applications", ["id": "another"])
        guard let secret = ApplicationSecret(base64: made["appSecret"]?.string ?? "") else {
            throw RecordedDevice.Nothing()
        }
        self.foreignApplication = (made["appKey"]?.string ?? "", secret)
        return (made["appKey"]?.string ?? "", secret)
    }

    private func changeToken(_ call: inout RecordedCall) throws {
        guard let label = self.name.wholeMatch(of: #/token (.*) at (?:probe|detail)/#)?.1 else {
            guard self.name.hasPrefix("detail token header ") else { throw NotPerformed(reason: "hidden steps") }
            return
        }
        let now = self.server.now.milliseconds
        switch label {
        case "wrong digest": call.values["token_digest"] = Self.ones(32)
        case "digest 31 bytes": call.values["token_digest"] = Self.ones(31)
        case "unknown token": call.values["token_id"] = Self.unknownID
        case "digest no padding": call.unpadded = "token_digest"
        case "nonce 15 bytes": call.nonce = [UInt8](repeating: 1, count: 15)
        case "nonce no padding": call.unpadded = "nonce"
        case "nonce changed": call.values["nonce"] = Self.ones(16)
        case "timestamp changed": (call.tokenTime, call.values["timestamp"]) = (now, "\(now + 1)")
        case "timestamp seconds": call.tokenTime = 1_795_900_000
        default:
            if let count = label.wholeMatch(of: #/timestamp (\d+) digits/#).flatMap({ Int($0.1) }) {
                call.tokenTime = Milliseconds(String("1234567890123456".prefix(count)))
            }
            if let time = label.wholeMatch(of: #/time (?:3\.\d )?(.*)/#)?.1 {
                call.tokenTime = now + (try Self.offset(String(time)))
            }
        }
    }

    /// Reads a time such as `-1 h 59 min`.
    static func offset(_ text: String) throws -> Milliseconds {
        let seconds = ["s": 1, "min": 60, "h": 3600, "d": 86400]
        let words = text.dropFirst().split(separator: " ")
        var offset: Milliseconds = 0
        for index in stride(from: 0, to: words.count - 1, by: 2) {
            guard let number = Milliseconds(words[index]), let unit = seconds[String(words[index + 1])] else {
                throw NotPerformed(reason: "the time \(text)")
            }
            offset += number * Milliseconds(unit) * 1000
        }
        return text.hasPrefix("-") ? -offset : offset
    }

    // MARK: - Codes and counters

    private func changeCode(_ call: inout RecordedCall, _ index: Int) throws {
        let isLast = self.steps.dropFirst(index + 1).allSatisfy { $0["request"]?["path"] == "/pa/v3/activation/status" }
        if let match = self.name.wholeMatch(of: #/(\d+) wrong codes of [a-z_]+ at .*/#) {
            call.isWrong = index < Int(match.1) ?? 0
        } else if let match = self.name.wholeMatch(of: #/code (\d+) steps ahead, .*|[a-z\/]+ (\d+) steps ahead/#) {
            if index == 0 { call.ahead = Int(match.1 ?? match.2 ?? "") ?? 0 }
        } else if let match = self.name.wholeMatch(of: #/code (-\d+) steps behind/#) {
            if index == 6 { call.ahead = Int(match.1) ?? 0 }
        } else if let match = self.name.wholeMatch(
            of: #/(\d+) signatures of ([a-z_]+) with an unknown application key, .*/#
        ) {
            guard self.device.keys != nil else { throw NotPerformed(reason: "keys of no activation") }
            call.values["pa_application_key"] = Self.ones(16)
            guard index == 0 else { return }
            for _ in 1..<(Int(match.1) ?? 1) { try self.device.validate(call) }
            self.device.log = []
        } else if self.name.wholeMatch(of: #/\d wrong codes while the counter is ahead/#) != nil {
            if index == 0 { call.ahead = 7 } else if isLast { call.ahead = 3 }
        } else {
            let shown = [
                #"\d+ wrong codes of [a-z_]+, then a right one"#,
                "3 wrong of [a-z_]+, right [a-z_]+, 3 wrong of [a-z_]+",
                "removed by (biometry|3FA)", "mixed wrong factors until blocked", "removed twice",
                "the last attempt is right", "wrong possession codes between", #"malformed headers until blocked\?"#,
            ]
            guard try shown.contains(where: { try self.name.wholeMatch(of: Regex($0)) != nil }) else {
                throw NotPerformed(reason: "hidden steps")
            }
        }
    }

    // MARK: - Envelopes

    private func changeEnvelope(_ call: inout RecordedCall) throws {
        let now = self.server.now.milliseconds
        if let plaintext = self.name.wholeMatch(of: #/\S+ plaintext b(['"].*['"])(\d+)/#) {
            call.envelope.content = try Self.plaintext(String(plaintext.1), count: Int(plaintext.2) ?? 0)
        } else if let time = self.name.wholeMatch(of: #/\S+ envelope time (.*) 3\.\d/#)?.1 {
            call.envelope.time = time == "0" ? 0 : now + (try Self.offset(String(time)))
        } else if let time = self.name.wholeMatch(of: #/create outer time (.*) 3\.\d/#)?.1 {
            call.envelope.time = time == "0" ? 0 : now + (try Self.offset(String(time)))
        } else if self.name.hasPrefix("create inner ") {
            return  // see `change(_ activation:)`
        } else if self.area == "envelope" {
            guard let label = self.name.wholeMatch(of: #/(?:create outer|\S+) envelope (.*?)( 3\.\d)?/#)?.1 else {
                throw NotPerformed(reason: "the envelope \(self.name)")
            }
            call.envelope.change = try Self.envelopeChange(String(label))
        } else if let label = self.name.wholeMatch(of: #/\S+ ((?:envelope|unknown|members) .*)/#)?.1,
            self.area == "order"
        {
            call.isWrong = label.hasSuffix("code wrong")
            switch label {
            case "envelope broken and code wrong": call.envelope.change = try Self.envelopeChange("mac flipped")
            case "unknown temporary key and code wrong":
                call.envelope.change = try Self.envelopeChange("temporaryKeyId unknown")
            case "members missing and code wrong": call.envelope.change = try Self.envelopeChange("nonce missing")
            case "envelope tampered after signing":
                call.tamper = { body in
                    let quote = body.firstIndex(of: UInt8(ascii: "\"")) ?? 0
                    return body[..<quote] + [0x20] + body[quote...]
                }
            default: throw NotPerformed(reason: "the order \(label)")
            }
        } else if self.area == "order" {
            call.signsContent = self.name.hasSuffix("signed first")
        } else {
            try self.changeKeys(&call)
        }
    }

    private func changeKeys(_ call: inout RecordedCall) throws {
        let label = self.name.split(separator: " ", maxSplits: 1).last ?? ""
        switch label {
        case "other secret in the envelope": call.envelope.secret = ApplicationSecret(base64: Self.ones(16))
        case "other shared info": call.envelope.purpose = .genericApplication
        case "uncompressed ephemeral key": call.envelope.form = .uncompressed
        case "with the application's temporary key":
            self.device.temporaryKeys[.activation] = try self.device.temporaryKey(.application)
        case "with the temporary key of another activation":
            let mine = self.device
            self.device = try RecordedDevice(self.server)
            try self.register()
            try self.device.activate(self.device.activation())
            mine.temporaryKeys[.activation] = try self.device.temporaryKey(.activation)
            self.device = mine
        case "with an expired temporary key":
            self.device.temporaryKeys[.activation] = (Self.unknownID, try self.device.temporaryKey(.activation).key)
        case _ where label.hasPrefix("version 3.2 in the envelope"):
            (call.envelope.version, call.envelope.content) = (.v3_2, Array("{}".utf8))
        default: throw NotPerformed(reason: "the key \(label)")
        }
    }

    static func setting(_ member: String, _ value: JSONValue?) -> (JSONObject) -> [UInt8] {
        { envelope in
            var envelope = envelope
            envelope[member] = value
            return JSONValue.object(envelope).serialized()
        }
    }

    /// Returns what a label such as `mac flipped` does to an envelope.
    static func envelopeChange(_ label: String) throws -> (JSONObject) throws -> [UInt8] {
        let values: [String: JSONValue?] = [
            "missing": .some(nil), "null": .null, "empty": "", "number": 5, "text": "abc!", "object": [:], "array": [],
            "true": true,
        ]
        let fixed: [String: (String, JSONValue)] = [
            "nonce 15 bytes": ("nonce", .string(self.ones(15))), "nonce 32 bytes": ("nonce", .string(self.ones(32))),
            "mac 16 bytes": ("mac", .string(self.ones(16))), "data 15 bytes": ("encryptedData", .string(self.ones(15))),
            "data of zero": ("encryptedData", ""), "key of zeros": ("ephemeralPublicKey", .string(self.ones(33))),
            "key infinity": ("ephemeralPublicKey", "AA=="), "timestamp negative": ("timestamp", -1),
            "timestamp huge": (
                "timestamp", JSONNumber(literal: "1" + String(repeating: "0", count: 30)).map { .number($0) } ?? .null
            ),
            "temporaryKeyId unknown": ("temporaryKeyId", .string(self.unknownID)),
            "temporaryKeyId long": ("temporaryKeyId", .string(String(repeating: "a", count: 3000))),
            "unknown member": ("extra", 1), "unknown member null": ("extra", .null),
        ]
        if label == "good" { return { JSONValue.object($0).serialized() } }
        if let (member, value) = fixed[label] { return self.setting(member, value) }
        let words = label.split(separator: " ", maxSplits: 1).map(String.init)
        let members = ["ephemeralPublicKey", "encryptedData", "mac", "nonce", "timestamp", "temporaryKeyId"]
        guard words.count == 2, members.contains(words[0]) else { return try self.bodyChange(label) }
        if let value = values[words[1]] { return self.setting(words[0], value) }
        return { envelope in
            guard let value = envelope[words[0]] else { return JSONValue.object(envelope).serialized() }
            return self.setting(words[0], try self.changed(value, label: words[1]))(envelope)
        }
    }

    private static func changed(_ value: JSONValue, label: String) throws -> JSONValue {
        let string = value.string ?? ""
        switch label {
        case "without padding": return .string(self.unpadded(string))
        case "with line break": return .string(string.prefix(8) + "\n" + string.dropFirst(8))
        case "with blank": return .string(string + " ")
        case "capitals": return .string(string.uppercased())
        case "flipped":
            var bytes = Base64.decode(string) ?? []
            if !bytes.isEmpty { bytes[bytes.count - 1] ^= 1 }
            return .string(Base64.encode(bytes))
        case "as text": return .string(value.number?.literal ?? "")
        case "float": return JSONNumber(literal: (value.number?.literal ?? "") + ".5").map { .number($0) } ?? .null
        case "exponent": return JSONNumber(literal: (value.number?.literal ?? "") + ".0e0").map { .number($0) } ?? .null
        case "changed": return .number(JSONNumber((value.int64 ?? 0) + 1))
        default: throw NotPerformed(reason: "the change \(label)")
        }
    }

    /// Returns what a label such as `trailing text` does to the body as a whole.
    private static func bodyChange(_ label: String) throws -> (JSONObject) throws -> [UInt8] {
        let texts: [String: (String) -> String] = [
            "array": { "[\($0)]" }, "wrapped": { "{\"requestObject\":\($0)}" }, "trailing text": { $0 + " x" },
            "trailing object": { $0 + "{}" }, "not json": { _ in "abc" }, "empty": { _ in "" }, "blank": { _ in " " },
            "null": { _ in "null" }, "empty object": { _ in "{}" }, "bom": { "\u{FEFF}" + $0 },
            "single quotes": { $0.replacing("\"", with: "'") }, "comments": { "/*x*/" + $0 },
            "blanks 100 kB": { String(repeating: " ", count: 100_000) + $0 },
            "pretty": { $0.replacing(",", with: ",\n   ").replacing("{", with: "{\n   ") },
            "member twice, first bad": { "{\"mac\":\"AAAA\"," + $0.dropFirst() },
        ]
        if let change = texts[label] {
            return { Array(change(String(decoding: JSONValue.object($0).serialized(), as: UTF8.self)).utf8) }
        }
        switch label {
        case "member twice":
            return { envelope in
                var envelope = envelope
                envelope.members.append(.init(key: "mac", value: envelope["mac"] ?? .null))
                return JSONValue.object(envelope).serialized()
            }
        case "members of upper case":
            return { envelope in
                let members = envelope.members.map { JSONObject.Member(key: $0.key.uppercased(), value: $0.value) }
                return JSONValue.object(JSONObject(members)).serialized()
            }
        default: throw NotPerformed(reason: "the envelope \(label)")
        }
    }
}
