import EmulatorBackend
import ExactJSON
import Foundation
import PowerAuthCrypto
import PowerAuthProtocol

// The contents of requests: recorded ones, filled in and with the mistakes that the name of the case says.

extension CoreCase {
    // MARK: - Creating

    /// Values of other kinds and lengths, by the names that cases have for them.
    static let variants: [String: JSONValue] = [
        "null": .null, "empty": "", "blank": "  ", "number": 5, "float": 1.5, "true": true, "object": [:], "array": [],
        "text": "abc", "unicode": "Ťuk 手机 😀", "control": "a\tb\nc", "nul": "a\0b", "html": "<b>&\"'",
        "rtl": "\u{202E}abc", "combining": "e\u{301}",
        "255": .string(String(repeating: "x", count: 255)), "256": .string(String(repeating: "x", count: 256)),
        "4000": .string(String(repeating: "x", count: 4000)), "4001": .string(String(repeating: "x", count: 4001)),
        "not a point": .string(Base64.encode([2] + [UInt8](repeating: 0xFF, count: 32))), "32 bytes": .string(ones(32)),
        "infinity": "AA==", "P-384 point": .string(Base64.encode([2] + [UInt8](repeating: 1, count: 48))),
    ]

    /// Changes of a body as a whole that leave an object.
    private static let changesOfWhole: Set<Substring> = [
        "pretty", "blanks 100 kB", "timestamp exponent", "member twice", "member twice, first bad", "wrapped",
        "empty object",
    ]

    func change(_ activation: inout RecordedDevice.Activation) throws {
        let now = self.server.now.milliseconds
        if let time = self.name.wholeMatch(of: #/create inner time (.*) 3\.\d/#)?.1 {
            activation.innerEnvelope.time = time == "0" ? 0 : now + (try Self.offset(String(time)))
        } else if let label = self.name.wholeMatch(of: #/create inner envelope (.*?)( 3\.\d)?/#)?.1 {
            let change = try Self.envelopeChange(String(label))
            activation.innerEnvelope.change = { envelope in
                let body = try change(envelope)
                // An inner envelope is a member of the outer one: other than an object, it cannot stand there.
                let isObject = (try? JSONValue(parsing: body))?.object != nil && !Self.changesOfWhole.contains(label)
                return isObject ? body : Array(#"{"_bytes":true}"#.utf8)
            }
        }
        guard self.area == "create" else { return }
        let words = self.name.split(separator: " ", maxSplits: 2).map(String.init)
        guard words.count == 3 else { return }
        switch words[1] {
        case "activationName", "platform", "deviceInfo", "extras", "activationOtp", "devicePublicKey":
            guard activation.inner[words[1]] != nil else { return }
            if let variant = Self.variants[words[2]] {
                activation.inner[words[1]] = variant
            } else {
                try self.changeKey(&activation, words)
            }
        case "outer" where words[2].hasPrefix("activationData "):
            let label = words[2].split(separator: " ").last.map(String.init) ?? ""
            guard let value = ["null": .null, "{}": [:], "text": "x", "array": []][label] as JSONValue? else {
                throw NotPerformed(reason: "the layer \(label)")
            }
            activation.data = value
        case "attributes": try self.changeCode(&activation, words[2])
        case "inner" where words[2] == "shared info wrong": activation.innerEnvelope.purpose = .upgrade
        case "inner" where words[2].hasPrefix("plaintext "):
            activation.innerEnvelope.content = try Self.plaintext(labeled: words[2])
        case "key":
            activation.innerEnvelope.applicationKey = Self.ones(16)
            activation.innerEnvelope.secret = ApplicationSecret(base64: Self.ones(16))
        case "secret": activation.innerEnvelope.secret = ApplicationSecret(base64: Self.ones(16))
        case "inner", "outer", "type", "plain", "custom", "registered", "with": break
        default: throw NotPerformed(reason: self.name)
        }
    }

    private static func plaintext(labeled label: String) throws -> [UInt8] {
        let texts = ["empty": "", "broken": "{", "array": "[]", "null": "null", "{}": "{}"]
        guard let text = texts[String(label.dropFirst("plaintext ".count))] else { throw NotPerformed(reason: label) }
        return Array(text.utf8)
    }

    /// Changes the outer layer of a request to activate.
    func changeLayer(_ call: inout RecordedCall) throws {
        guard self.name.hasPrefix("create ") else { throw NotPerformed(reason: "hidden steps") }
        let label = self.name.dropFirst("create ".count)
        switch label {
        case "outer shared info wrong": call.envelope.purpose = .activation
        case "key unknown":
            (call.envelope.applicationKey, call.values["application_key"]) = (Self.ones(16), Self.ones(16))
            call.envelope.secret = ApplicationSecret(base64: Self.ones(16))
        case "secret wrong": call.envelope.secret = ApplicationSecret(base64: Self.ones(16))
        case "with the key of another application": self.device.application = try self.foreign()
        case _ where label.hasPrefix("outer plaintext "):
            call.envelope.content = try Self.plaintext(labeled: String(label.dropFirst("outer ".count)))
        default: break
        }
    }

    private func changeKey(_ activation: inout RecordedDevice.Activation, _ words: [String]) throws {
        let key = activation.privateKey.publicKey
        switch words[2] {
        case "uncompressed": activation.inner[words[1]] = .string(Base64.encode(key.uncompressed))
        case "no padding": activation.inner[words[1]] = .string(Self.unpadded(Base64.encode(key.compressed)))
        case "line break":
            let text = Base64.encode(key.compressed)
            activation.inner[words[1]] = .string(text.prefix(10) + "\n" + text.dropFirst(10))
        case "AAA": activation.inner[words[1]] = .string(String(repeating: "A", count: 255))
        case _ where words[1] == "activationName" && activation.inner[words[1]]?.string?.hasPrefix("<") == false: break
        default: throw NotPerformed(reason: "the value \(words[2])")
        }
    }

    private func changeCode(_ activation: inout RecordedDevice.Activation, _ label: String) throws {
        let code = self.device.code
        let codes: [String: String] = [
            "code lower case": code.lowercased(), "code without dashes": code.replacing("-", with: ""),
            "code with signature": code + "#AAAA", "code with blanks": " \(code) ", "code with nul": code + "\0",
            "code unknown": "AAAAA-AAAAA-AAAAA-AAAAA", "code long": String(repeating: "A", count: 5000),
        ]
        if let changed = codes[label] { activation.outer["identityAttributes"] = ["code": .string(changed)] }
    }

    // MARK: - Contents

    /// Reads Python's way to write bytes, which is cut after 24 of them.
    static func plaintext(_ literal: String, count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = Array(literal.utf8.dropFirst().dropLast())[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), rest.first == UInt8(ascii: "x") {
                let digits = String(decoding: rest.dropFirst().prefix(2), as: UTF8.self)
                bytes.append(UInt8(digits, radix: 16) ?? 0)
                rest = rest.dropFirst(3)
            } else {
                bytes.append(byte)
            }
        }
        guard bytes.count < count else { return bytes }
        let text = String(decoding: bytes, as: UTF8.self)
        if text.hasPrefix(#"{"activationName":"a","x"#) { return Array(#"{"activationName":"a","x":1}"#.utf8) }
        guard let last = bytes.last, bytes.dropLast().last == last else {
            throw NotPerformed(reason: "the content \(text)")
        }
        let end = text.hasPrefix("{") ? Array("\"}".utf8) : []
        return bytes + [UInt8](repeating: last, count: count - bytes.count - end.count) + end
    }

    /// Returns the content of a recorded body; `nil` for none.
    func content(_ body: JSONValue?, _ path: String) throws -> [UInt8]? {
        guard let body, !body.isNull else { return nil }
        guard let text = body.string else { return self.filled(body, path).serialized() }
        if self.name.hasSuffix("signed body binary") { return [UInt8](0...255) }
        if self.name.hasSuffix("bytes without NUL") { return [UInt8](1...255) }
        var broken: [UInt8] = [0xFF, 0xFE]
        return self.filled(text, path).unicodeScalars.reduce(into: []) { bytes, scalar in
            if scalar == "\u{FFFD}", !broken.isEmpty {
                bytes.append(broken.removeFirst())
            } else {
                bytes += String(scalar).utf8
            }
        }
    }

    func filled(_ value: JSONValue, _ path: String) -> JSONValue {
        value.mapping { value in value.string.map { .string(self.filled($0, path)) } ?? value }
    }

    func filled(_ string: String, _ path: String) -> String {
        if let long = string.wholeMatch(of: #/(?s)(.*)…<(\d+)>/#) {
            let (start, count) = (String(long.1), Int(long.2) ?? 0)
            let end = start.hasPrefix("{") ? "\"" + String(repeating: "}", count: start.count { $0 == "{" }) : ""
            return start + String(repeating: start.last ?? "x", count: count - start.count - end.count) + end
        }
        if let many = string.wholeMatch(of: #/<(\d+) × x>/#) { return String(repeating: "x", count: Int(many.1) ?? 0) }
        if let bytes = string.wholeMatch(of: #/<base64:(\d+)>/#) { return Self.ones(Int(bytes.1) ?? 0) }
        if string == "<text>", self.area == "status" { return Self.unpadded(Self.ones(16)) }
        let token = ["token", "mixed versions"].contains(self.area) ? self.device.token?["tokenId"]?.string : nil
        let isCreation = path == "/pa/v3/activation/create"
        let isDevice = path == "/pa/v3/activation/status" && !self.name.contains("unknown id")
        return string.replacing(#"\0"#, with: "\0")
            .replacing("<uuid>", with: isDevice ? self.device.id : token ?? Self.unknownID)
            .replacing("<code>", with: isCreation ? self.device.code : "AAAAA-AAAAA-AAAAA-AAAAA")
            .replacing("<puk>", with: "0123456789")
    }
}
