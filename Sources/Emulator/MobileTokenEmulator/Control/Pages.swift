import APIDescriptions
import Basics

/// The requested part of a list.
struct PageBounds: Described {
    var offset = 0
    var limit = Int.max

    static let fields = FieldTable(
        "Page",
        PageBounds.init(offset:limit:),
        .preset("offset", \.offset, .count, or: 0, "The number of elements to skip."),
        .preset("limit", \.limit, .integer(1...1000), or: 100, "The maximum number of elements; 100 by default.")
    )
}

/// The requested elements of a list, by status and user.
struct StatusFilter<Status: CaseIterable & RawRepresentable<String> & Sendable>: Described {
    var status: Status?
    var userID: String?

    static var fields: FieldTable<Self> {
        FieldTable(
            "StatusFilter",
            Self.init(status:userID:),
            .optional("status", \.status, .cases(), "Lists those of this status only."),
            .optional("userId", \.userID, .word, "Lists those of this user only.")
        )
    }

    func has(_ status: Status, of userID: String?) -> Bool {
        self.status.map { $0.rawValue == status.rawValue } ?? true
            && self.userID.map { userID?.isExactly($0) == true } ?? true
    }
}

extension SummaryPage where Summary: Described {
    /// - Parameter name: The name of the page's form.
    static func form(_ name: String) -> Form<Self> {
        FieldTable(
            name,
            Self.init(items:total:),
            .required("items", \.items, .list(of: .described)),
            .required("total", \.total, .count)
        ).form
    }

    init(items: [Summary], total: Int) { (self.items, self.total) = (items, total) }
}
