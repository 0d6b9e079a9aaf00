import ExactJSON
import Foundation

/// One difference between what the official server did and what the development server did.
struct RecordingDifference: Equatable, CustomStringConvertible {
    let place: String
    /// `nil` for an absent value.
    let official: JSONValue?
    let ours: JSONValue?

    var description: String { "\(self.place): official \(Self.text(self.official)) | ours \(Self.text(self.ours))" }

    private static func text(_ value: JSONValue?) -> String {
        let text = value.map { String(decoding: $0.serialized(), as: UTF8.self) } ?? "(absent)"
        return text.count <= 160 ? text : "\(text.prefix(150))…<\(text.count)>"
    }
}

/// The rules by which an answer is compared with a recorded one: which values vary from run to run, and what is put aside.
///
/// They are those of the recordings' own program; see "Placeholders" and "What is put aside" in the recordings' README.
enum RecordingComparison {
    /// The header fields that are compared.
    static let headers = ["content-type", "allow", "www-authenticate", "retry-after", "accept", "location"]

    // MARK: - Placeholders

    /// Replaces the values that vary from run to run.
    static func normalized(_ value: JSONValue) -> JSONValue {
        value.mapping { value in
            switch value {
            case .string(let string): .string(self.normalized(string))
            case .number(let number):
                if let double = Double(number.literal), double > 1e9 { double > 1e12 ? "<ms>" : "<s>" } else { value }
            default: value
            }
        }
    }

    static func normalized(_ string: String) -> String {
        let bytes = Array(string.utf8)
        if bytes.count == 36, self.isUUID(bytes[...], allowsCapitals: true) { return "<uuid>" }
        if self.isActivationCode(bytes) { return "<code>" }
        if self.isDate(bytes) { return "<date>" }
        if bytes.count == 10, bytes.allSatisfy(self.isDigit) { return "<puk>" }
        if string.hasPrefix("eyJ"), bytes.count(where: { $0 == UInt8(ascii: ".") }) == 2 { return "<jwt>" }
        if self.looksLikeBase64(bytes) { return Data(base64Encoded: string).map { "<base64:\($0.count)>" } ?? "<text>" }
        let text = self.replacingUsers(in: self.replacingIdentifiers(in: bytes))
        let count = text.unicodeScalars.count
        return count < 400 ? text : "\(String(String.UnicodeScalarView(text.unicodeScalars.prefix(60))))…<\(count)>"
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private static func isUUID(_ bytes: ArraySlice<UInt8>, allowsCapitals: Bool = false) -> Bool {
        bytes.count == 36
            && zip(0..., bytes).allSatisfy { index, byte in
                [8, 13, 18, 23].contains(index)
                    ? byte == UInt8(ascii: "-")
                    : self.isDigit(byte) || (0x61...0x66).contains(byte)
                        || allowsCapitals && (0x41...0x46).contains(byte)
            }
    }

    private static func isActivationCode(_ bytes: [UInt8]) -> Bool {
        bytes.count == 23
            && zip(0..., bytes).allSatisfy { index, byte in
                index % 6 == 5
                    ? byte == UInt8(ascii: "-") : (0x41...0x5A).contains(byte) || (0x32...0x37).contains(byte)
            }
    }

    private static func isDate(_ bytes: [UInt8]) -> Bool {
        let form = Array("0000-00-00T00:00:00".utf8)
        return bytes.count >= form.count
            && zip(bytes, form).allSatisfy { $1 == UInt8(ascii: "0") ? self.isDigit($0) : $0 == $1 }
            && bytes.dropFirst(form.count).allSatisfy { self.isDigit($0) || "+.-Z".utf8.contains($0) }
    }

    private static func looksLikeBase64(_ bytes: [UInt8]) -> Bool {
        let padding = bytes.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        return padding <= 2 && bytes.count - padding >= 20
            && bytes.dropLast(padding).allSatisfy { byte in
                self.isDigit(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/")
            }
    }

    static func replacingIdentifiers(in bytes: [UInt8]) -> String {
        guard bytes.contains(UInt8(ascii: "-")) else { return String(decoding: bytes, as: UTF8.self) }
        var output: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if index + 36 <= bytes.count, bytes[index + 8] == UInt8(ascii: "-"),
                self.isUUID(bytes[index..<(index + 36)])
            {
                output += "<uuid>".utf8
                index += 36
            } else {
                output.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func replacingUsers(in text: String) -> String {
        guard text.contains("cf-") else { return text }
        return text.replacing(#/cf-[0-9]+-[0-9]+/#, with: "<user>")
    }

    // MARK: - Placeholders of the Mobile Token API

    /// Replaces the values that vary from run to run, and writes numbers as the recordings of the Mobile Token API do.
    static func normalizedForMobile(_ value: JSONValue) -> JSONValue {
        value.mapping { value in
            switch value {
            case .string(let string): .string(self.normalizedForMobile(string))
            case .number(let number):
                number.literal.wholeMatch(of: #/-?\d{1,15}/#) == nil
                    ? ["$number": .string(number.literal)]
                    : number.literal.wholeMatch(of: #/17\d{11}/#) == nil ? value : "<milliseconds>"
            default: value
            }
        }
    }

    static func normalizedForMobile(_ string: String) -> String {
        if let date = string.wholeMatch(of: #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(.*)/#) {
            return "<date yyyy-MM-ddTHH:mm:ss\(date.1 == nil ? "" : ".fraction")\(date.2)>"
        }
        return self.replacingIdentifiers(in: Array(string.utf8)).replacing(#/mf-00000-[0-9a-z]*/#, with: "<user>")
    }

    // MARK: - What is put aside

    /// Puts aside what the servers are known to do differently, everywhere in an answer.
    static func puttingAside(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): .array(elements.map(self.puttingAside))
        case .object(let object): .object(self.puttingAside(object))
        default: value
        }
    }

    private static func puttingAside(_ object: JSONObject) -> JSONObject {
        var object = object
        if object["userInfo"]?.object != nil { object["userInfo"] = "<claims>" }
        if object["sub"] != nil { for claim in ["jti", "preferred_username", "iat"] { object[claim] = nil } }
        if object["activationRecovery"] != nil { object["activationRecovery"] = "<recovery>" }
        if object["customObject"]?.object?.members.isEmpty == true { object["customObject"] = nil }
        if let data = object["activationData"]?.object {
            object["activationData"] = .object(JSONObject(data.members.filter { !$0.value.isNull }))
        }
        object["application"] = nil
        return object.mapValues(self.puttingAside)
    }

    // MARK: - Comparing

    /// Returns the differences between two values, each at its place.
    static func differences(_ official: JSONValue?, _ ours: JSONValue?, at place: String) -> [RecordingDifference] {
        if official == ours { return [] }
        if let official = official?.object, let ours = ours?.object {
            let keys = Set(official.keys).union(ours.keys).sorted()
            return keys.flatMap { self.differences(official[$0], ours[$0], at: place.isEmpty ? $0 : "\(place).\($0)") }
        }
        if let official = official?.array, let ours = ours?.array, official.count == ours.count {
            return zip(0..., zip(official, ours)).flatMap { index, pair in
                self.differences(pair.0, pair.1, at: "\(place)[\(index)]")
            }
        }
        return [RecordingDifference(place: place, official: official, ours: ours)]
    }
}
