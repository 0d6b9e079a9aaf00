package import APIDescriptions
import EmulatorMessages
import ExactJSON

extension FaultRule.Effect {
    /// A page from an intermediary, such as a proxy, instead of the server's response.
    public struct Page: Sendable, Codable, Hashable {
        /// The moment of the page: before or after the request is executed.
        public var when: Moment
        /// The status of the page.
        public var status: Int
        /// The content of the page; some HTML by default.
        public var text: String?

        /// Creates a page.
        public init(_ when: Moment, status: Int, text: String? = nil) {
            (self.when, self.status, self.text) = (when, status, text)
        }

        var response: ServerResponse {
            let hasBody = self.status != 204 && self.status != 304
            let text = self.text ?? "<html><body><h1>\(self.status)</h1></body></html>"
            return ServerResponse(
                status: self.status,
                headers: hasBody ? [("Content-Type", "text/html")] : [],
                body: .bytes(hasBody ? Array(text.utf8) : [])
            )
        }
    }
}

// MARK: - Fields

extension FaultRule.Effect.Page: Described {
    package static let fields = FieldTable(
        "FaultPage",
        FaultRule.Effect.Page.init(_:status:text:),
        .preset("when", \.when, .cases(), or: .before, "Before or after the request is carried out."),
        .required("status", \.status, .integer(200...599), example: 403, unit: .status),
        .optional("text", \.text, .string(upTo: 65_536), "Some HTML if left out.", example: "<html></html>")
    )

}

extension FaultRule.Effect.Page {
    /// Decodes a page; refuses unknown members, and numbers out of range.
    public init(from decoder: any Decoder) throws { try self.init(json: JSONValue(from: decoder)) }
}

extension FaultRule.Effect: Described {
    package static let fields = FieldTable(
        "FaultEffect",
        FaultRule.Effect.init,
        .optional("delay", \.delay, .number(0...3600), "The delay before the response.", example: 0.5, unit: .seconds),
        .optional(
            "jitter",
            \.jitter,
            .number(0...3600),
            "The longest addition to the delay, which is drawn evenly for each request.",
            example: 0.2,
            unit: .seconds
        ),
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
        .optional("page", \.page, .described, "A page of somebody on the way, in the place of the answer."),
        .optional(
            "hold",
            \.hold,
            .number(0...3600),
            "The time for which requests are held; then they are carried out in their order, clients or not.",
            unit: .seconds
        ),
        .optional(
            "late",
            \.late,
            .number(0...3600),
            "The time after which the request is carried out that is answered at once, by a page with 504 by default; a "
                + "callback is sent so much later, and newer ones pass it.",
            example: 5,
            unit: .seconds
        ),
        .optional("repeat", \.repeat, .cases(), "The request is carried out twice, and gets this answer."),
        .optional(
            "strip",
            \.strip,
            .string(upTo: 1024),
            "A header field that is lost on the way, such as X-PowerAuth-Authorization."
        ),
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
    ).stating(
        .excludes(["late"], beside: "hold"),
        .excludes(["page"], beside: "status")
    ).refusing(\.objection)
}
