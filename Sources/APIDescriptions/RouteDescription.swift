/// An endpoint as far as finding it goes.
package protocol Routable: Sendable {
    /// In capitals; `*` for all.
    var method: String { get }
    /// Such as `/v2/registrations/{id}/commit`: a segment in braces stands for one that is not empty, `**` at the end for
    /// whatever follows.
    var path: String { get }
}

/// A route that tells its callers what it is.
package protocol DescribedRoute: Routable {
    var description: RouteDescription { get }
}

/// The words for the callers of a route: the description of the API is made of this and of nothing else.
package struct RouteDescription: Sendable {
    /// The proof with which a caller shows that it may call.
    package enum Access: Sendable {
        /// Anyone may.
        case open
        /// With the user and the password of the cloud API.
        case credentials
        /// With them only where others than this machine can reach the server.
        case credentialsBeyondLoopback
        /// With a signature or an authentication code.
        case code
        /// With a token.
        case token
    }

    /// The owner of a call or a member.
    package enum Origin: String, Sendable {
        /// PowerAuth Cloud's: its documentation or its clients have it.
        case powerAuthCloud = "PowerAuth Cloud"
        /// This server's alone.
        case emulator = "this server"

        /// The sentence for readers of the description.
        package var sentence: String {
            switch self {
            case .powerAuthCloud: "Of PowerAuth Cloud."
            case .emulator: "Of this server alone."
            }
        }
    }

    /// A value in the query.
    package typealias Parameter = Schema.Member

    /// The body of a request.
    package struct Body: Sendable {
        package let schema: Schema
        /// Without it, an empty body will do.
        package let isRequired: Bool
        /// Indicates whether it is a document that people write, which its route reads itself, to name the lines of mistakes.
        package var isWritten = false
        /// Indicates whether the route looks at it; it may be anything otherwise.
        package var isRead = true

        package static func required(_ schema: Schema) -> Self { Self(schema: schema, isRequired: true) }
        package static func optional(_ schema: Schema) -> Self { Self(schema: schema, isRequired: false) }
        /// A body that may be anything, also nothing, of any content type.
        package static let ignored = Self(schema: .anything, isRequired: false, isRead: false)
        package static func document(_ schema: Schema) -> Self {
            Self(schema: schema, isRequired: true, isWritten: true)
        }
    }

    /// The body of a response.
    package enum Content: Sendable {
        case json(Schema)
        /// Something of this content type.
        case other(type: String)
        /// Events without an end, of this content type; each holds data of this form.
        case events(type: String, Schema)
        case nothing
    }

    /// One sentence.
    package var summary: String
    package var access: Access
    package var query: [Parameter]
    package var request: Body?
    /// The status of a response that is no refusal; `nil` for a route that refuses all.
    package var status: Int?
    package var response: Content
    /// The statuses of its refusals, in their order. Each has the one shape that the errors of all APIs share.
    package var refusals: [Int]
    /// The owner of the call, where readers could take it for another's.
    package var origin: Origin?
    /// The name of the call, where the one that follows from method and path would mislead.
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
    /// The shape of every error.
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

    /// A response that says no more than that it was done.
    package static let done = Self.object("Done", [.required("status", .oneOf(["OK"]))])

    /// A response that wraps its content.
    package static func wrapped(_ content: Schema) -> Self {
        .object([.required("status", .oneOf(["OK"])), .required("responseObject", content)])
    }
}
