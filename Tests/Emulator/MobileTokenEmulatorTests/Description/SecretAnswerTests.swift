import EmulatorHTTP
import EmulatorMessages
import ExactJSON
import MobileTokenNotifications
import MobileTokenTesting
import Testing

/// Number 42: no answer that needs no credentials has a secret of the server, the bank or a device in it.
@Suite(.timeLimit(.minutes(5))) struct SecretAnswerTests {
    /// Returns the strings of secret members, also of JSON in a string.
    private static func secrets(in value: JSONValue, named name: String = "") -> [String] {
        if let object = value.object { return object.members.flatMap { Self.secrets(in: $0.value, named: $0.key) } }
        if let elements = value.array { return elements.flatMap { Self.secrets(in: $0, named: name) } }
        guard let string = value.string else { return [] }
        if string.hasPrefix("{"), let json = try? JSONValue(parsing: string) { return Self.secrets(in: json) }
        let isSecret = name.contains(/(?i)secret|password|private|sealingkey|seed|counterdata|otp|puk|sdkconfig/)
        return isSecret && string.utf8.count > 5 ? [string] : []
    }

    @Test func noAnswerWithoutCredentialsShowsASecret() async throws {
        let token: JSONValue = ["access_token": "bearer-8d1f", "token_type": "Bearer", "expires_in": 60]
        try await withServer({ _ in .json(token) }) { bank in
            try await withEmulator { emulator in
                let secrets = try await Self.fill(emulator, telling: "http://127.0.0.1:\(bank.port)")
                for (path, isOpen) in try await Self.paths(of: emulator) {
                    let answer = try await emulator.send("GET", path)
                    #expect(isOpen || answer.status == 401, "\(path)")
                    let shown = secrets.filter { "\(answer.headers) \(answer.text)".contains($0) }
                    #expect(shown.isEmpty, "\(path): \(answer.text.prefix(2_000))")
                }
            }
        }
    }

    /// Makes something of everything, and returns its secrets.
    private static func fill(_ emulator: Emulator, telling bank: String) async throws -> Set<String> {
        var secrets = [
            emulator.applicationSecret, emulator.sdkConfiguration, emulator.cloudPassword, "bearer-8d1f", "basic-4e2a",
            emulator.authorization.replacing("Authorization: Basic ", with: ""), "client-77c0", "otp-19b3", "known-5f",
        ]
        let callbacks = [
            #""httpBasic":{"enabled":true,"username":"bank","password":"basic-4e2a"}"#,
            #""oAuth2":{"enabled":true,"clientId":"b","clientSecret":"client-77c0","tokenUri":"\#(bank)/token"}"#,
        ].map {
            #"{"name":"b","type":"OPERATION","callbackUrl":"\#(bank)/","attributes":["status"],"authentication":{\#($0)}}"#
        }
        for (path, body) in [
            ("/v2/callbacks", callbacks[0]), ("/_emulator/cloud/callbacks", callbacks[1]),
            ("/_emulator/scenario", #"{"callbacks":[\#(callbacks[0])]}"#), ("/_emulator/spaces", "{}"),
            ("/v2/registrations", #"{"userId":"alice","otp":"otp-19b3"}"#),
            ("/admin/users", #"{"username":"other"}"#), ("/admin/applications", #"{"id":"other"}"#),
        ] {
            let answer = try await emulator.bank("POST", path, body)
            #expect(answer.status == 200 || answer.status == 201, "\(path): \(answer.text)")
            secrets += Self.secrets(in: try JSONValue(parsing: answer.body))
        }
        let activation = try await emulator.makeActivation(user: "alice", password: "known-5f")
        try await PushService(activation: activation).register(token: "push", for: .fcm)
        try await emulator.makeDevice(userID: "bob")
        _ = try await emulator.cloud.createMessage(.init(userID: "bob", subject: "s", summary: "s", body: "b"))
        let events = emulator.events()
        _ = try await emulator.cloud.createOperation("login", userID: "alice", demandsProximityCheck: true)
        for await event in events where event.kind == .delivery && event.status == "delivered" {
            if emulator.deliveries().allSatisfy({ $0.state == .delivered }) { break }
        }
        return Set(secrets + Self.secrets(in: try JSONValue(parsing: Array(try await emulator.exported()))))
    }

    /// The paths of all `GET` routes without a device's code, each with every object that there is in the place of `{id}`.
    private static func paths(of emulator: Emulator) async throws -> [(path: String, isOpen: Bool)] {
        func read(_ path: String) async throws -> JSONValue {
            try JSONValue(parsing: try await emulator.send("GET", path).body)
        }
        let unlisted = ["console": ["console.js"], "oidc": ["emulator"], "applications": [emulator.applicationID]]
        var paths: [(String, Bool)] = []
        for member in try await read("/openapi.json")["paths"]?.object?.members ?? [] {
            // The events are a stream without an end, of kinds and identifiers.
            guard let security = member.value["get"]?["security"]?.array, member.key != "/_emulator/events",
                security.allSatisfy({ $0["code"] == nil && $0["token"] == nil })
            else { continue }
            let isOpen = security.isEmpty || security.contains([:])
            let parts = member.key.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
            guard let place = parts.firstIndex(where: { $0.hasPrefix("{") }) else {
                paths.append((member.key, isOpen))
                continue
            }
            var values = unlisted[parts[place - 1]] ?? []
            if values.isEmpty {
                let name = parts[place - 1] == "registrations" ? "activations" : parts[place - 1]
                let list = try await read("/_emulator/\(name)").object?.members.flatMap { $0.value.array ?? [] } ?? []
                let identifiers = list.compactMap { $0.object?.members.first?.value }
                values = identifiers.compactMap { $0.string ?? $0.number?.literal }
            }
            #expect(!values.isEmpty, "\(member.key)")
            paths += values.map { ((parts[..<place] + [$0] + parts[(place + 1)...]).joined(separator: "/"), isOpen) }
        }
        return paths
    }
}
