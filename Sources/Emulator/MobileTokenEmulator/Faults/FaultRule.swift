package import APIDescriptions
import ExactJSON

/// A deliberate fault: the requests it applies to, and its effect.
///
/// Faults apply to API requests, never to the control API. They also apply to callbacks sent by the server, with the whole target
/// address as the path. The first matching rule is applied.
public struct FaultRule: Sendable, Codable, Hashable {
    /// A condition on requests. A request must match every property that is set.
    public struct Match: Sendable, Codable, Hashable {
        /// The method, such as `POST`.
        public var method: String?
        /// The path, with or without `/enrollment-server`; `*` is any string without a slash, `**` any string.
        public var path: String?
        /// The identifier of the activation that the request names.
        public var activation: String?
        /// Applies the rule only to the matching request with this number, from 1, since the rule was set.
        public var nth: Int?
        /// Applies the rule only to this many matching requests since the rule was set.
        public var first: Int?
        /// The probability for each matching request, 0 to 1.
        public var probability: Double?

        /// Creates a condition with all the given parts.
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
        /// The moment of a connection reset, or of a page in place of the response.
        public enum Moment: String, Sendable, Codable, CaseIterable {
            /// Before the request is executed: it changes nothing.
            case before
            /// After the request is executed: only the response is lost.
            case after
        }

        /// The response to a client whose request is executed twice.
        public enum Answer: String, Sendable, Codable, CaseIterable {
            /// The response to the first execution.
            case first
            /// The response to the second execution.
            case second
        }

        /// A damaged response body; the request itself succeeds.
        public enum Body: String, Sendable, Codable, CaseIterable {
            /// Sends half of the body and closes the connection.
            case truncated
            /// Sends invalid JSON, declared as JSON.
            case garbage
        }

        /// The delay before the request is handled, in seconds.
        public var delay: Double?
        /// The maximum additional delay in seconds, uniformly random for each request.
        public var jitter: Double?
        /// The response's status; the request changes nothing, and the body is an API error.
        public var status: Int?
        /// The code of that error, such as `REMOTE_COMMUNICATION_ERROR` for a 409; `ERROR_GENERIC` by default.
        public var code: String?
        /// The response's `Retry-After`, in seconds.
        public var retryAfter: Int?
        /// The moment of a connection reset: before or after the request is executed.
        public var reset: Moment?
        /// A page from an intermediary, such as a proxy, instead of the server's response.
        public var page: Page?
        /// The number of seconds, by the server's clock, for which requests are held, as by a database lock.
        ///
        /// They are executed in the order of their arrival, whether or not their clients still wait.
        public var hold: Double?
        /// The number of seconds, by the server's clock, until a request is executed that got its response at once.
        ///
        /// The answer is that of ``status``, ``page`` or ``reset``; a page with status 504 by default. A callback is sent so much later,
        /// and newer ones pass it.
        public var late: Double?
        /// Executes the request twice; the client gets this response.
        public var `repeat`: Answer?
        /// The name of a header field to remove from the request, such as `X-PowerAuth-Authorization`.
        public var strip: String?
        /// The damage to the response's body.
        public var body: Body?
        /// The response's content type instead of the real one.
        public var contentType: String?
        /// The transfer rate of the body, in bytes per second.
        public var drip: Int?
        /// The seconds by which the server's clock is fast (slow if negative) for this request.
        public var clockSkew: Double?

        /// Creates an effect with all the given parts.
        public init(
            delay: Double? = nil,
            jitter: Double? = nil,
            status: Int? = nil,
            code: String? = nil,
            retryAfter: Int? = nil,
            reset: Moment? = nil,
            page: Page? = nil,
            hold: Double? = nil,
            late: Double? = nil,
            repeat answer: Answer? = nil,
            strip: String? = nil,
            body: Body? = nil,
            contentType: String? = nil,
            drip: Int? = nil,
            clockSkew: Double? = nil
        ) {
            self.delay = delay
            self.jitter = jitter
            self.status = status
            self.code = code
            self.retryAfter = retryAfter
            self.reset = reset
            self.page = page
            self.hold = hold
            self.late = late
            self.repeat = answer
            self.strip = strip
            self.body = body
            self.contentType = contentType
            self.drip = drip
            self.clockSkew = clockSkew
        }
    }

    /// The requests matched by a rule since it was set.
    public struct Count: Sendable, Codable, Hashable {
        /// The rule's name in the journal; `fault 1` and so on by default.
        public var name: String
        /// The number of requests with the rule's method, path and activation.
        public var matched: Int
        /// The number of requests the rule was applied to.
        public var struck: Int
        /// The number of requests that the rule currently postpones.
        public var waiting: Int
    }

    /// The name in the journal. Rules with the same name are removed together.
    public var name: String?
    /// The condition on requests.
    public var match: Match
    /// The effect on them.
    public var effect: Effect

    /// - Parameters:
    ///   - name: The name of the rule in the journal.
    ///   - match: The condition on requests; all by default.
    ///   - effect: The effect on them.
    public init(name: String? = nil, match: Match = Match(), effect: Effect) {
        self.name = name
        self.match = match
        self.effect = effect
    }
}

// MARK: - Fields

// Rules are stored, and matched with every request, so their strings are limited.
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
        .required("struck", \.struck, .count, "The requests that it was applied to."),
        .required("waiting", \.waiting, .count, "Those that wait to be carried out: held ones and late ones.")
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

// MARK: - Decoding

// Strict: a rule with a misspelled member would apply to wrong requests, or do nothing.
extension FaultRule {
    /// Decodes a rule; refuses unknown members.
    public init(from decoder: any Decoder) throws { try self.init(json: JSONValue(from: decoder)) }
}

extension FaultRule.Match {
    /// Decodes a condition; refuses unknown members, and numbers out of range.
    public init(from decoder: any Decoder) throws { try self.init(json: JSONValue(from: decoder)) }
}

extension FaultRule.Effect {
    /// Decodes an effect; refuses unknown members, and numbers out of range.
    public init(from decoder: any Decoder) throws { try self.init(json: JSONValue(from: decoder)) }
}
