/// Something that goes wrong on purpose: which requests it strikes, and what happens to them.
///
/// The requests of the APIs are struck, never those of the control API. So are the callbacks that the server sends; their
/// path is the whole address that they go to. Of several rules, the first that strikes is applied.
public struct FaultRule: Sendable, Codable, Hashable {
    /// Which requests are struck; those that fulfil all that is set.
    public struct Match: Sendable, Codable, Hashable {
        /// The method, such as `POST`.
        public var method: String?
        /// The path, with or without `/enrollment-server`; `*` stands for anything but a slash, `**` for anything.
        public var path: String?
        /// The activation the request names.
        public var activation: String?
        /// Only the n-th of the matching requests, from 1, since the rule was set.
        public var nth: Int?
        /// Only so many of the matching requests, since the rule was set.
        public var first: Int?
        /// With this probability, 0 to 1, drawn for each request.
        public var probability: Double?

        /// Matches what fulfils all that is given.
        public init(
            method: String? = nil,
            path: String? = nil,
            activation: String? = nil,
            nth: Int? = nil,
            first: Int? = nil,
            probability: Double? = nil
        ) {
            self.method = method
            self.path = path
            self.activation = activation
            self.nth = nth
            self.first = first
            self.probability = probability
        }
    }

    /// What happens; effects combine.
    public struct Effect: Sendable, Codable, Hashable {
        /// When a connection is reset.
        public enum Reset: String, Sendable, Codable, CaseIterable {
            /// The request changes nothing.
            case before
            /// The request did what it asked for, but the client does not hear of it.
            case after
        }

        /// How the response's body is spoiled; the request did what it asked for.
        public enum Body: String, Sendable, Codable, CaseIterable {
            /// Half of the body is sent, then the connection ends.
            case truncated
            /// Something that is no JSON is sent, as JSON.
            case garbage
        }

        /// Seconds to wait before the request is looked at.
        public var delay: Double?
        /// The response's status; the request changes nothing, and the body is an error of the API.
        public var status: Int?
        /// The code of that error, such as `REMOTE_COMMUNICATION_ERROR` for a 409; `ERROR_GENERIC` by default.
        public var code: String?
        /// The response's `Retry-After`, in seconds.
        public var retryAfter: Int?
        /// Resets the connection.
        public var reset: Reset?
        /// Spoils the body.
        public var body: Body?
        /// The response's content type instead of the true one.
        public var contentType: String?
        /// Sends the body at so many bytes a second.
        public var drip: Int?
        /// How many seconds the server's clock is fast, or slow if negative, for this request.
        public var clockSkew: Double?

        /// Does all that is given.
        public init(
            delay: Double? = nil,
            status: Int? = nil,
            code: String? = nil,
            retryAfter: Int? = nil,
            reset: Reset? = nil,
            body: Body? = nil,
            contentType: String? = nil,
            drip: Int? = nil,
            clockSkew: Double? = nil
        ) {
            self.delay = delay
            self.status = status
            self.code = code
            self.retryAfter = retryAfter
            self.reset = reset
            self.body = body
            self.contentType = contentType
            self.drip = drip
            self.clockSkew = clockSkew
        }
    }

    /// What the journal calls it.
    public var name: String?
    /// Which requests are struck.
    public var match: Match
    /// What happens to them.
    public var effect: Effect

    /// - Parameters:
    ///   - name: What the journal calls the rule.
    ///   - match: Which requests are struck; all of them by default.
    ///   - effect: What happens to them.
    public init(name: String? = nil, match: Match = Match(), effect: Effect) {
        self.name = name
        self.match = match
        self.effect = effect
    }
}

// Decoding is strict: a rule with a misspelt member would strike what it should not, or do nothing.
extension FaultRule {
    private enum CodingKeys: String, CodingKey, CaseIterable { case name, match, effect }

    /// Refuses members that it does not know.
    public init(from decoder: any Decoder) throws {
        try decoder.refuseMembers(except: CodingKeys.self)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.name = try container.decodeStringIfPresent(forKey: .name)
        self.match = try container.decodeIfPresent(Match.self, forKey: .match) ?? Match()
        self.effect = try container.decode(Effect.self, forKey: .effect)
        if let objection = self.match.objection {
            throw DecodingError.dataCorruptedError(forKey: .match, in: container, debugDescription: objection)
        }
        if let objection = self.effect.objection {
            throw DecodingError.dataCorruptedError(forKey: .effect, in: container, debugDescription: objection)
        }
    }
}

extension FaultRule.Match {
    private enum CodingKeys: String, CodingKey, CaseIterable { case method, path, activation, nth, first, probability }

    /// Refuses members that it does not know, and numbers out of their range.
    public init(from decoder: any Decoder) throws {
        try decoder.refuseMembers(except: CodingKeys.self)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.method = try container.decodeStringIfPresent(forKey: .method)
        self.path = try container.decodeStringIfPresent(forKey: .path)
        self.activation = try container.decodeStringIfPresent(forKey: .activation)
        self.nth = try container.decodeIfPresent(Int.self, forKey: .nth, in: 1...Int.max)
        self.first = try container.decodeIfPresent(Int.self, forKey: .first, in: 1...Int.max)
        self.probability = try container.decodeIfPresent(Double.self, forKey: .probability, in: 0...1)
    }
}

extension FaultRule.Effect {
    private enum CodingKeys: String, CodingKey, CaseIterable {
        case delay, status, code, retryAfter, reset, body, contentType, drip, clockSkew
    }

    /// Refuses members that it does not know, and numbers out of their range.
    public init(from decoder: any Decoder) throws {
        try decoder.refuseMembers(except: CodingKeys.self)
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.delay = try container.decodeIfPresent(Double.self, forKey: .delay, in: 0...3600)
        self.status = try container.decodeIfPresent(Int.self, forKey: .status, in: 200...599)
        self.code = try container.decodeStringIfPresent(forKey: .code)
        guard self.code == nil || self.status != nil else {
            throw DecodingError.dataCorruptedError(forKey: .code, in: container, debugDescription: "Without a status")
        }
        self.retryAfter = try container.decodeIfPresent(Int.self, forKey: .retryAfter, in: 0...Int.max)
        self.reset = try container.decodeIfPresent(Reset.self, forKey: .reset)
        self.body = try container.decodeIfPresent(Body.self, forKey: .body)
        self.contentType = try container.decodeStringIfPresent(forKey: .contentType)
        self.drip = try container.decodeIfPresent(Int.self, forKey: .drip, in: 1...Int.max)
        self.clockSkew = try container.decodeIfPresent(Double.self, forKey: .clockSkew, in: -1e9...1e9)
    }
}

/// Any member's name.
private struct AnyKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension Decoder {
    /// Throws when the object has a member of another name.
    func refuseMembers<Keys: CodingKey & CaseIterable>(except keys: Keys.Type) throws {
        let known = Set(keys.allCases.map(\.stringValue))
        for key in try self.container(keyedBy: AnyKey.self).allKeys where !known.contains(key.stringValue) {
            let context = DecodingError.Context(
                codingPath: self.codingPath,
                debugDescription: "Unknown member \(key.stringValue)"
            )
            throw DecodingError.dataCorrupted(context)
        }
    }
}

extension KeyedDecodingContainer {
    /// Rules are kept, and matched with every request: their strings are of moderate length.
    fileprivate func decodeStringIfPresent(forKey key: Key) throws -> String? {
        guard let string = try self.decodeIfPresent(String.self, forKey: key) else { return nil }
        guard string.utf8.count <= 1024 else {
            throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "Longer than 1024 bytes")
        }
        return string
    }

    fileprivate func decodeIfPresent<Number: Decodable & Comparable>(
        _ type: Number.Type,
        forKey key: Key,
        in range: ClosedRange<Number>
    ) throws -> Number? {
        guard let value = try self.decodeIfPresent(type, forKey: key) else { return nil }
        guard range.contains(value) else {
            let description = "Not from \(range.lowerBound) to \(range.upperBound)"
            throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: description)
        }
        return value
    }
}
