import ExactJSON
import MobileToken

/// Settings from environment variables, which win over the file: `APPROVAL_DAEMON_SERVER_BASE_URL` is `server.baseURL`.
struct EnvironmentSettings {
    static let prefix = "APPROVAL_DAEMON_"
    /// The variable that names the configuration file.
    static let fileVariable = prefix + "CONFIG"

    /// The way in which a variable's value becomes JSON.
    private enum Kind {
        case string
        /// A number or a list: what it stands for in a file.
        case json
    }

    private static let settings: [(path: [String], kind: Kind)] = [
        (["server", "baseURL"], .string), (["server", "sdkConfiguration"], .string),
        (["server", "powerAuthURL"], .string), (["server", "certificateAuthorityFile"], .string),
        (["server", "publicKeyPins"], .json),
        (["store", "path"], .string), (["store", "sealingKey"], .string),
        (["passwordFile"], .string),
        (["polling", "intervalSeconds"], .json), (["polling", "requestsPerSecond"], .json),
        (["polling", "concurrentRequests"], .json),
        (["policy", "name"], .string), (["policy", "version"], .string), (["policy", "rules"], .json),
        (["policy", "limits"], .json),
        (["status", "host"], .string), (["status", "port"], .json), (["status", "maximumPollAgeSeconds"], .json),
        (["receipts", "folder"], .string), (["receipts", "exportIntervalSeconds"], .json),
        (["gracePeriodSeconds"], .json), (["logLevel"], .string),
    ]

    /// All variables, for the help and for tests of it.
    static let names = Self.settings.map { Self.name(of: $0.path) }

    /// Returns the members of a section of the file, or of the whole file. Each has a variable.
    static func members(of section: String? = nil) -> [String] {
        let names = Self.settings.compactMap { path, _ in
            guard let section else { return path.first }
            return path.count == 2 && path.first == section ? path.last : nil
        }
        return Array(Set(names))
    }

    /// The folder in which systemd puts credentials, if it does.
    let credentialsFolder: String?
    private var values: [(path: [String], value: JSONValue)] = []

    /// - Throws: ``ConfigurationError`` for a variable of the daemon's that means nothing.
    init(_ environment: [String: String]) throws {
        self.credentialsFolder = environment["CREDENTIALS_DIRECTORY"].flatMap { $0.isEmpty ? nil : $0 }
        let names = Dictionary(uniqueKeysWithValues: zip(Self.names, Self.settings))
        for (name, text) in environment.sorted(by: { $0.key < $1.key })
        where name.utf8.starts(with: Self.prefix.utf8) && name != Self.fileVariable {
            guard let (path, kind) = names[name] else {
                let suggestion = Suggestion.text(for: name, among: Self.names)
                throw ConfigurationError(name, "is no variable of the approval daemon; \(suggestion)")
            }
            self.values.append((path, try Self.value(text, kind, of: name)))
        }
    }

    private static func value(_ text: String, _ kind: Kind, of name: String) throws -> JSONValue {
        switch kind {
        case .string: return .string(text)
        case .json:
            guard let value = try? JSONValue(parsing: text) else { throw ConfigurationError(name, "is not JSON") }
            return value
        }
    }

    /// `server.baseURL` is `APPROVAL_DAEMON_SERVER_BASE_URL`.
    private static func name(of path: [String]) -> String {
        let words = path.map { member in
            var word: [UInt8] = []
            for byte in member.utf8 {
                let isCapital = (0x41...0x5A).contains(byte)
                if isCapital, let last = word.last, (0x61...0x7A).contains(last) { word.append(UInt8(ascii: "_")) }
                word.append(byte)
            }
            return String(decoding: word, as: UTF8.self).uppercased()
        }
        return Self.prefix + words.joined(separator: "_")
    }

    /// Returns the file's settings with those of the environment in their places.
    func overriding(_ json: JSONValue) throws -> JSONValue {
        guard var root = json.object else { return json }
        for (path, value) in self.values {
            guard let first = path.first else { continue }
            guard path.count == 2, let last = path.last else {
                root[first] = value
                continue
            }
            guard var section = (root[first] ?? .object(JSONObject())).object else {
                throw ConfigurationError(first, "is not an object")
            }
            section[last] = value
            root[first] = .object(section)
        }
        return .object(root)
    }
}
