package import APIDescriptions
import ExactJSON

/// Something that goes wrong on purpose: which requests it strikes, and what happens to them.
///
/// The requests of the APIs are struck, never those of the control API. So are the callbacks that the server sends; their
/// path is the whole address that they go to. Of several rules, the first that strikes is applied.
public struct FaultRule: Sendable, Codable, Hashable {
    /// The requests that are struck: those that fulfil all that is set.
    public struct Match: Sendable, Codable, Hashable {
        /// The method, such as `POST`.
        public var method: String?
        /// The path, with or without `/enrollment-server`; `*` stands for anything but a slash, `**` for anything.
        public var path: String?
        /// The identifier of the activation that the request names.
        public var activation: String?
        /// The number of the only matching request that is struck, from 1, since the rule was set.
        public var nth: Int?
        /// The number of matching requests that are struck, from the first on since the rule was set.
        public var first: Int?
        /// The probability with which a matching request is struck, 0 to 1, drawn for each.
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

    /// The effect on requests; effects combine.
    public struct Effect: Sendable, Codable, Hashable {
        /// The moment at which a connection is reset.
        public enum Reset: String, Sendable, Codable, CaseIterable {
            /// The request changes nothing.
            case before
            /// The request did what it asked for, but the client does not hear of it.
            case after
        }

        /// The way in which the response's body is spoiled; the request did what it asked for.
        public enum Body: String, Sendable, Codable, CaseIterable {
            /// Half of the body is sent, then the connection ends.
            case truncated
            /// Something that is no JSON is sent, as JSON.
            case garbage
        }

        /// The number of seconds to wait before the request is handled.
        public var delay: Double?
        /// The wait before the request is looked at, drawn anew for each; not beside a delay.
        public var latency: Latency?
        /// The response's status; the request changes nothing, and the body is an error of the API.
        public var status: Int?
        /// The code of that error, such as `REMOTE_COMMUNICATION_ERROR` for a 409; `ERROR_GENERIC` by default.
        public var code: String?
        /// The response's `Retry-After`, in seconds.
        public var retryAfter: Int?
        /// The moment at which the connection is reset: before or after the request is carried out.
        public var reset: Reset?
        /// The way in which the response's body is spoiled.
        public var body: Body?
        /// The response's content type instead of the true one.
        public var contentType: String?
        /// The number of bytes of the body that are sent in a second.
        public var drip: Int?
        /// The seconds by which the server's clock is fast, or slow if negative, for this request.
        public var clockSkew: Double?

        /// Does all that is given.
        public init(
            delay: Double? = nil,
            latency: Latency? = nil,
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
            self.latency = latency
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

    /// The requests that a rule has met since it was set.
    public struct Count: Sendable, Codable, Hashable {
        /// The rule's name, as the journal has it; `fault 1` and so on for one that was given none.
        public var name: String
        /// The number of requests of the rule's method, path and activation.
        public var matched: Int
        /// The number of requests that the rule was applied to.
        public var struck: Int
    }

    /// The name in the journal. Rules that share one are removed together.
    public var name: String?
    /// The requests that are struck.
    public var match: Match
    /// The effect on them.
    public var effect: Effect

    /// - Parameters:
    ///   - name: The name of the rule in the journal.
    ///   - match: The requests that are struck; all by default.
    ///   - effect: The effect on them.
    public init(name: String? = nil, match: Match = Match(), effect: Effect) {
        self.name = name
        self.match = match
        self.effect = effect
    }
}

// MARK: - Fields

// Rules are kept, and matched with every request: their strings are of moderate length.
extension FaultRule: Described {
    package static let fields = FieldTable(
        "FaultRule",
        FaultRule.init(name:match:effect:),
        .optional("name", \.name, .string(upTo: 1024), "The name in the journal.", example: "outage"),
        .preset("match", \.match, .described, or: Match(), "The requests that it strikes; all by default."),
        .required("effect", \.effect, .described)
    ).refusing(\.objection)
}

extension FaultRule.Count: Described {
    package static let fields = FieldTable(
        "FaultCount",
        Self.init,
        .required("name", \.name, .string, "The rule's name, as the journal has it."),
        .required("matched", \.matched, .count, "The requests of the method, path and activation that it asks for."),
        .required("struck", \.struck, .count, "The requests that it was applied to.")
    )
}

extension FaultRule.Match: Described {
    package static let fields = FieldTable(
        "FaultMatch",
        FaultRule.Match.init(method:path:activation:nth:first:probability:),
        .optional("method", \.method, .string(upTo: 1024), example: "POST"),
        .optional("path", \.path, .string(upTo: 1024), "* is anything but a slash, ** anything.", example: "/pa/v3/**"),
        .optional("activation", \.activation, .string(upTo: 1024)),
        .optional("nth", \.nth, .integer(1...Int.max), unit: .number),
        .optional("first", \.first, .integer(1...Int.max), example: 2),
        .optional("probability", \.probability, .number(0...1), unit: .probability)
    ).refusing(\.objection)
}

extension FaultRule.Effect: Described {
    package static let fields = FieldTable(
        "FaultEffect",
        FaultRule.Effect.init(delay:latency:status:code:retryAfter:reset:body:contentType:drip:clockSkew:),
        .optional("delay", \.delay, .number(0...3600), "The delay before the response.", example: 0.5, unit: .seconds),
        .optional("latency", \.latency, .described, "A delay that is drawn anew for each request."),
        .optional("status", \.status, .integer(200...599), example: 503, unit: .status),
        .optional(
            "code",
            \.code,
            .string(upTo: 1024),
            "Of the error, with a status; ERROR_GENERIC if left out.",
            example: "ERROR_GENERIC"
        ),
        .optional("retryAfter", \.retryAfter, .count, example: 30, unit: .seconds),
        .optional("reset", \.reset, .cases()),
        .optional("body", \.body, .cases()),
        .optional("contentType", \.contentType, .string(upTo: 1024)),
        .optional("drip", \.drip, .integer(1...Int.max), "The speed of the response.", unit: .bytesPerSecond),
        .optional(
            "clockSkew",
            \.clockSkew,
            .number(-1e9...1e9),
            "The time by which the server's clock is ahead.",
            unit: .seconds
        )
    ).stating(.excludes(["latency"], beside: "delay")).refusing(\.objection)
}

// MARK: - Decoding

// Strict: a rule with a misspelt member would strike what it should not, or do nothing.
extension FaultRule {
    /// Refuses members that it does not know.
    public init(from decoder: any Decoder) throws { try self.init(json: JSONValue(from: decoder)) }
}

extension FaultRule.Match {
    /// Refuses members that it does not know, and numbers out of their range.
    public init(from decoder: any Decoder) throws { try self.init(json: JSONValue(from: decoder)) }
}

extension FaultRule.Effect {
    /// Refuses members that it does not know, and numbers out of their range.
    public init(from decoder: any Decoder) throws { try self.init(json: JSONValue(from: decoder)) }
}
