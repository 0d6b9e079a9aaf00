/// The method and path of an endpoint.
package protocol Routable: Sendable {
    /// The method in capitals; `*` for all.
    var method: String { get }
    /// The path, such as `/v2/registrations/{id}/commit`: a segment in braces is any nonempty one, a final `**` any rest.
    var path: String { get }
}

/// A method and a path, such as `GET /v2/operations/{id}`.
package struct CallLine: Sendable, ExpressibleByStringInterpolation {
    package let method: String
    package let path: String

    package init(stringLiteral line: String) {
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        (self.method, self.path) = (words.first ?? "", words.last ?? "")
    }
}

/// A route with a description.
package protocol DescribedRoute: Routable {
    var description: RouteDescription { get }
}

/// The documentation of a route, the only source of the API description.
package struct RouteDescription: Sendable {
    /// The required proof of a caller.
    package enum Access: Sendable {
        /// None.
        case open
        /// The user and the password of the cloud API.
        case credentials
        /// The same, but only if other machines can reach the server.
        case credentialsBeyondLoopback
        /// A signature or an authentication code.
        case code
        case token
    }

    /// The owner of a call or a member.
    package enum Origin: String, Sendable {
        /// PowerAuth Cloud: its documentation or its clients have it.
        case powerAuthCloud = "PowerAuth Cloud"
        /// Only this server.
        case emulator = "this server"

        /// The sentence for readers of the description.
        package var sentence: String {
            switch self {
            case .powerAuthCloud: "Of PowerAuth Cloud."
            case .emulator: "Of this server alone."
            }
        }
    }

    /// A query parameter.
    package typealias Parameter = Schema.Member

    /// The body of a request.
    package struct Body: Sendable {
        package let schema: Schema
        /// Indicates whether an empty body is refused.
        package let isRequired: Bool
        /// Indicates whether it is a document written by people, which its route reads itself, to name the lines of mistakes.
        package var isWritten = false
        /// Indicates whether the route reads it; otherwise it may be anything.
        package var isRead = true

        package static func required(_ schema: Schema) -> Self { Self(schema: schema, isRequired: true) }
        package static func optional(_ schema: Schema) -> Self { Self(schema: schema, isRequired: false) }
        /// A body that may be anything or empty, of any content type.
        package static let ignored = Self(schema: .anything, isRequired: false, isRead: false)
        package static func document(_ schema: Schema) -> Self {
            Self(schema: schema, isRequired: true, isWritten: true)
        }
    }

    /// The body of a response.
    package enum Content: Sendable {
        case json(Schema)
        case other(type: String)
        /// An endless stream of events of this content type, each with data of this form.
        case events(type: String, Schema)
        case nothing
    }

    /// A single sentence.
    package var summary: String
    package var access: Access
    package var query: [Parameter]
    package var request: Body?
    /// The status of a successful response; `nil` for a route that always refuses.
    package var status: Int?
    package var response: Content
    /// The statuses of refusals, in order. All have the error format common to all APIs.
    package var refusals: [Int]
    /// The owner of the call, if it may be unclear.
    package var origin: Origin?
    /// The name of the call, if the one derived from method and path would mislead.
    package var name: String?

    package init(
        _ summary: String,
        access: Access,
        query: [Parameter] = [],
        request: Body? = nil,
        status: Int? = 200,
        response: Content = .nothing,
        refusals: [Int],
        origin: Origin? = nil,
        name: String? = nil
    ) {
        self.summary = summary
        self.access = access
        self.query = query
        self.request = request
        self.status = status
        self.response = response
        self.refusals = refusals
        self.origin = origin
        self.name = name
    }
}

extension Schema {
    /// The format of every error.
    package static let refusal = Self.object(
        "Refusal",
        [
            .required("status", .oneOf(["ERROR"])),
            .required(
                "responseObject",
                .open([
                    .required("code", .string, "The error's code, for a program."),
                    .required("message", .string, "The error in words, for a person."),
                    .optional(
                        "violations",
                        .list(of: .violation),
                        "The members that are wrong, in calls of PowerAuth Cloud."
                    ),
                ])
            ),
        ]
    )

    private static let violation = Self.object(
        "Violation",
        [
            .required("fieldName", .string), .optional("invalidValue", .anything, "The value that was given."),
            .required("hint", .string, "The rule that it breaks."),
        ]
    )

    /// A response that only confirms success.
    package static let done = Self.object("Done", [.required("status", .oneOf(["OK"]))])

    /// A response that wraps its content.
    package static func wrapped(_ content: Schema) -> Self {
        .object([.required("status", .oneOf(["OK"])), .required("responseObject", content)])
    }
}
