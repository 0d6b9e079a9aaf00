import ExactJSON
import Foundation
import PowerAuthCrypto
import PowerAuthProtocol

// Cases of the standard endpoints whose bank does something between the requests, or which read an answer in their own way.

extension CoreCase {
    // MARK: - Activation codes with a one-time password

    func performOTP() throws {
        let values: [String: String] = ["right": "12345678", "wrong": "87654321", "empty": ""]
        let form = #/(?:phase (\w+)|old way:?),? ?OTP (\w+), device gives (\w+), commit gives (\w+)/#
        if let parts = self.name.wholeMatch(of: form) {
            var request: JSONObject = [:]
            if let phase = parts.1 { request["commitPhase"] = .string(String(phase)) }
            if parts.2.hasPrefix("ON_") {
                (request["otp"], request["otpValidation"]) = ("12345678", .string(String(parts.2)))
            }
            try self.register(request)
            let id = self.device.id
            try self.device.activate(self.device.activation(otp: values[String(parts.3)]))
            self.device.id = id
            var notes = try self.noted(failures: parts.1 != nil)
            do {
                try self.server.commit(id, otp: values[String(parts.4)])
                notes.append("committed")
            } catch { notes.append("commit refused") }
            self.notes = .array(notes)
            guard self.device.keys != nil else { return }
            self.device.status()
            try self.device.validate()
        } else if let count = self.name.wholeMatch(of: #/(\d+) wrong OTPs at the key exchange, then the right one/#)?.1
        {
            try self.register(["commitPhase": "ON_KEY_EXCHANGE", "otp": "12345678", "otpValidation": "ON_KEY_EXCHANGE"])
            let id = self.device.id
            for _ in 0..<(Int(count) ?? 0) { try self.device.activate(self.device.activation(otp: "0000")) }
            self.notes = .array(try self.noted(failures: true))
            try self.device.activate(self.device.activation(otp: "12345678"))
            self.device.id = id
        } else if self.name.hasPrefix("OTP "),
            let otp = self.steps.first?["request"]?["body"]?["inner"]?["activationOtp"]
        {
            let value = self.filled(otp, "")
            try self.register(["commitPhase": "ON_KEY_EXCHANGE", "otp": value, "otpValidation": "ON_KEY_EXCHANGE"])
            let id = self.device.id
            try self.device.activate(self.device.activation(otp: value.string))
            self.device.id = id
        } else {
            throw NotPerformed(reason: "hidden steps")
        }
    }

    private func noted(failures: Bool) throws -> [JSONValue] {
        let state = self.stateAfter
        return [state["status"] ?? .null] + (failures ? [state["failed"] ?? .null] : [])
    }

    // MARK: - The bank

    func performBank() throws {
        guard let parts = self.name.wholeMatch(of: #/bank: (commit|block|unblock|remove) of \w+/#) else {
            throw NotPerformed(reason: "hidden steps")
        }
        try self.setUp()
        do {
            switch parts.1 {
            case "commit": try self.server.commit(self.device.id)
            case "remove": try self.server.remove(self.device.id)
            default: try self.server.change(self.device.id, parts.1.uppercased())
            }
            self.notes = "done"
        } catch { self.notes = "refused" }
        if self.device.keys != nil { self.device.status() }
    }

    // MARK: - Users

    func performUser() throws {
        guard let user = self.name.wholeMatch(of: #/user '(.*)'(\d+)/#) else {
            throw NotPerformed(reason: "hidden steps")
        }
        let count = Int(user.2) ?? 0
        let name = count > 200 ? String(repeating: "a", count: count) : user.1 + self.server.newUser()
        try self.register(user: name)
        try self.device.activate(self.device.activation())
        let answer = try self.device.encrypted("/pa/v3/user/info", RecordedCall())
        self.device.log.removeLast()
        let claims = (answer.content?.object ?? [:]).members.filter { !["preferred_username", "jti"].contains($0.key) }
        self.notes = .object(JSONObject(claims).mapValues { $0.string == nil ? "int" : "str" })
    }

    // MARK: - Temporary keys

    func performKeystore() throws {
        try self.setUp()
        for step in self.steps {
            let request = step["request"] ?? .null
            if request["what"] == "the same again", let last = self.device.log.last {
                self.device.send(last.request)
                continue
            }
            try self.requestKey(request["body"]?["claims"] ?? .null)
        }
    }

    /// The claims of a recorded request, filled in.
    private func claims(_ recorded: JSONValue) -> JSONObject {
        var claims: JSONObject = [:]
        for member in recorded.object?.members ?? [] {
            claims[member.key] =
                switch (member.key, member.value) {
                case ("applicationKey", "<base64:16>"):
                    .string(self.name.contains("applicationKey unknown") ? Self.ones(16) : self.device.application.key)
                case ("activationId", "<uuid>"):
                    .string(self.name.contains("activationId unknown") ? Self.unknownID : self.device.id)
                case ("challenge", "<base64:18>"): .string(Base64.encode(SecureRandom.bytes(18)))
                case (_, "<s>"), (_, "<ms>"): 4_000_000_000
                default: self.filled(member.value, "")
                }
        }
        return claims
    }

    private func requestKey(_ recorded: JSONValue) throws {
        let label = String(self.name.dropFirst("keystore ".count))
        if ["foreign application", "activation of another application"].contains(label) {
            self.device.application = try self.foreign()
        }
        let bodies = [
            "jwt null": "null", "jwt number": "5", "jwt object": "{}", "jwt array": "[]", "jwt empty": "\"\"",
            "jwt huge": "\"" + String(repeating: "a", count: 500_000) + "\"",
        ]
        if let value = bodies[label] { return self.send(Array(#"{"requestObject":{"jwt":\#(value)}}"#.utf8)) }
        if label == "unknown members" { return self.send(Array(#"{"requestObject":{"jwt":"x","y":1},"z":1}"#.utf8)) }
        let claims = self.claims(recorded)
        let isOfActivation = label.hasPrefix("activation") || label == "replayed"
        let isActivation = isOfActivation != label.contains("signed with the key of")
        let transportKey = self.device.keys?.transport ?? SecretBytes(copying: [UInt8](repeating: 1, count: 16))
        var key = TemporaryKeyRequest.signingKey(
            applicationSecret: self.device.application.secret,
            transportKey: isActivation ? transportKey : nil
        )
        var header = #"{"alg":"HS256","typ":"JWT"}"#
        let change = label.split(separator: ": ", maxSplits: 1).last.map(String.init) ?? ""
        switch change {
        case "HS512 named": header = header.replacing("HS256", with: "HS512")
        case "HS256 lower": header = header.replacing("HS256", with: "hs256")
        case "none", "ES256 by the device":
            header = header.replacing("HS256", with: change == "none" ? "none" : "ES256")
        case "empty key": key = SecretBytes(copying: [UInt8]())
        case "wrong key": key = SecretBytes(copying: [UInt8](repeating: 1, count: 16))
        case "jwt header no typ": header = #"{"alg":"HS256"}"#
        case "jwt header kid": header = #"{"alg":"HS256","typ":"JWT","kid":"x"}"#
        case "jwt header typ other": header = #"{"alg":"HS256","typ":"JOSE"}"#
        case "jwt header no alg": header = #"{"typ":"JWT"}"#
        case "jwt header crit": header = #"{"alg":"HS256","crit":["x"],"x":1}"#
        case "jwt header zip": header = #"{"alg":"HS256","zip":"DEF"}"#
        default: break
        }
        let payload = JSONValue.object(claims).serialized()
        let input = "\(Base64URL.encode(Array(header.utf8))).\(Base64URL.encode(payload))"
        let signature =
            change == "none"
            ? []
            : change == "ES256 by the device"
                ? try P256PrivateKey.generate().rawSignature(for: Array(input.utf8))
                : TemporaryKeyRequest.tag(of: Array(input.utf8), key: key)
        let jwt = try Self.changed("\(input).\(Base64URL.encode(signature))", change)
        self.send(JSONValue(dictionaryLiteral: ("requestObject", ["jwt": .string(jwt)])).serialized())
        self.readKey(claims)
    }

    private func send(_ body: [UInt8]) { self.device.send("/pa/v3/keystore/create", [], body) }

    private static func changed(_ jwt: String, _ change: String) throws -> String {
        let parts = jwt.split(separator: ".").map(String.init)
        switch change {
        case "jwt two parts": return "\(parts[0]).\(parts[1])"
        case "jwt four parts": return jwt + ".x"
        case "jwt padded":
            return parts.map { $0 + String(repeating: "=", count: (4 - $0.count % 4) % 4) }.joined(separator: ".")
        case "jwt blank around": return " \(jwt) "
        case "jwt signature flipped":
            var characters = Array(jwt)
            let place = characters.count - 3
            characters[place] = characters[place] == "A" ? "B" : "A"
            return String(characters)
        case "jwt header garbage": return "abc.\(parts[1]).\(parts[2])"
        case "jwt claims garbage": return "\(parts[0]).abc.\(parts[2])"
        case "jwt empty": return ""
        case "jwt blank": return " "
        case "jwt text": return "abc"
        case _ where change.hasPrefix("jwt ") && !change.hasPrefix("jwt header "): throw NotPerformed(reason: change)
        default: return jwt
        }
    }

    /// Notes what the answer says, where the case looked at it.
    private func readKey(_ sent: JSONObject) {
        guard self.record["real"]?["notes"]?["claims"] != nil, let answer = self.device.log.last?.reply,
            let parts = answer.object["jwt"]?.string?.split(separator: ".").map(String.init), parts.count == 3
        else { return }
        let read = parts.prefix(2).map { (try? JSONValue(parsing: Base64URL.decode($0) ?? [])) ?? .null }
        let claims = read[1].object ?? [:]
        let time = { (name: String) in claims[name]?.int64 ?? 0 }
        let names = ["applicationKey", "activationId", "challenge"]
        self.notes = [
            "header": read[0], "claims": .array(claims.keys.sorted().map { .string($0) }),
            "life": .number(JSONNumber((time("exp_ms") - time("iat_ms")) / 1000)),
            "same": .array(names.map { .bool((claims[$0] ?? .null) == (sent[$0] ?? .null)) }),
            "key": .number(JSONNumber(Base64.decode(claims["publicKey"]?.string ?? "")?.count ?? 0)),
            "sub": .bool(UUID(uuidString: claims["sub"]?.string ?? "") != nil),
            "exp": .bool(time("exp") * 1000 - time("exp_ms") < 1000),
            "types": .object(claims.mapValues { $0.string == nil ? "int" : "str" }),
        ]
    }
}
