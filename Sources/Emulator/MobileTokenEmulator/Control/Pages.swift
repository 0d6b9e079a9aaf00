import APIDescriptions
import Basics

/// The requested part of a list.
struct PageBounds: Described {
    var offset = 0
    var limit = Int.max

    static let fields = FieldTable("Page", PageBounds.init(offset:limit:), .offset(\.offset), .limit(\.limit))
}

/// The requested part of a list, filtered by status.
struct StatusPage<Status: CaseIterable & RawRepresentable<String> & Sendable>: Described {
    var status: Status?
    var userID: String?
    var bounds = PageBounds()

    static var fields: FieldTable<Self> {
        FieldTable(
            "StatusPage",
            Self.init(status:userID:offset:limit:),
            .optional("status", \.status, .cases(), "Lists those of this status only."),
            .optional("userId", \.userID, .word, "Lists those of this user only."),
            .offset(\.bounds.offset),
            .limit(\.bounds.limit)
        )
    }

    init() {}

    private init(status: Status?, userID: String?, offset: Int, limit: Int) {
        (self.status, self.userID, self.bounds) = (status, userID, PageBounds(offset: offset, limit: limit))
    }

    func has(_ status: Status, of userID: String?) -> Bool {
        self.status.map { $0.rawValue == status.rawValue } ?? true
            && self.userID.map { userID?.isExactly($0) == true } ?? true
    }
}

/// The requested part of the push messages.
struct PushPage: Described {
    var activationID: String?
    var bounds: PageBounds

    static let fields = FieldTable(
        "PushPage",
        PushPage.init(activationID:offset:limit:),
        .optional("activationId", \.activationID, .string, "Lists those for this activation only."),
        .offset(\.bounds.offset),
        .limit(\.bounds.limit)
    )

    private init(activationID: String?, offset: Int, limit: Int) {
        (self.activationID, self.bounds) = (activationID, PageBounds(offset: offset, limit: limit))
    }
}

extension Field where Value == Int {
    fileprivate static func offset(_ path: Path<Int>) -> Self {
        .preset("offset", path, .count, or: 0, "The number of elements to skip.")
    }

    fileprivate static func limit(_ path: Path<Int>) -> Self {
        .preset("limit", path, .integer(1...1000), or: 100, "The maximum number of elements; 100 by default.")
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
