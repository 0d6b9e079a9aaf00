import APIDescriptions

/// The name of a call in the description, and of its function in generated clients.
///
/// It is derived from method and path, so that every call has one: `createOperation`, `getDevice`, `listSpaces`.
struct OperationName {
    private let method: String
    private let path: String
    /// The explicit name in the call's description.
    private var given: String?

    init(_ route: any DescribedRoute) {
        self.init(route.method, route.path)
        self.given = route.description.name
    }

    private init(_ method: String, _ path: String) { (self.method, self.path) = (method, path) }

    var text: String {
        if self.path.utf8.starts(with: Self.relayed.utf8) {
            let rest = String(Substring(self.path.utf8.dropFirst(Self.relayed.utf8.count)))
            return Self(self.method, "/v2/" + rest).text + "Relayed"
        }
        if let given { return given }
        if let name = Self.ofOddCalls["\(self.method) \(self.path)"] { return name }
        for (prefix, suffix) in Self.areas where self.path.utf8.starts(with: prefix.utf8) {
            let rest = String(Substring(self.path.utf8.dropFirst(prefix.utf8.count)))
            return Self.name(self.method, rest) + suffix
        }
        return Self.name(self.method, self.path)
    }

    /// The cloud API as the console uses it.
    private static let relayed = "/_emulator/cloud/"

    /// Path prefixes, longest first, with a suffix that distinguishes their calls.
    private static let areas = [
        ("/_emulator/", ""), ("/v2/", ""), ("/admin/", "AsAdministrator"),
        ("/pa/v3/", "3"), ("/pa/v4/", "4"), ("/api/auth/token/app/", "OnDevice"), ("/api/", "OnDevice"),
    ]

    private static let ofOddCalls = [
        "GET /": "getIndex",
        "GET /console/": "openConsole",
        "GET /console": "redirectToConsole",
        "GET /openapi.json": "getDescription",
        "GET /docs": "openDocumentation",
        "PUT /v2/registrations/{id}": "changeRegistration",
        "DELETE /v2/registrations/{id}/flags": "removeRegistrationFlags",
        "POST /v2/registrations/{id}/flags": "addRegistrationFlags",
        "DELETE /v2/operations/{id}": "cancelOperation",
        "GET /v2/operations/{id}/offline/qr": "createOfflineQrCode",
        "POST /v2/operations/{id}/offline/otp": "verifyOfflineCode",
        "POST /v2/inbox/messages": "createMessage",
        "POST /v2/messages/send": "pushMessage",
        "POST /api/activation/code": "createTransferCodeOnDevice",
        "POST /api/config/oidc": "getOpenIdConfigurationOnDevice",
        "GET /oidc/{provider}/authorize": "authorizeWithOpenId",
        "POST /api/auth/token/app/operation/detail/claim": "claimOperationOnDevice",
        "POST /api/push/device/register": "registerForPushOnDevice",
        "POST /api/push/device/register/token": "registerForPushWithTokenOnDevice",
        "POST /api/inbox/message/read-all": "readAllMessagesOnDevice",
        "POST /api/inbox/count": "countMessagesOnDevice",
    ]

    /// The verbs at the end of paths. An action on an object, as in `/operations/{id}/expire`, need not be listed.
    private static let verbs: Set = [
        "add", "authorize", "cancel", "change", "claim", "confirm", "create", "list", "read", "remove", "rename",
        "send",
        "start", "unlock", "validate", "verify",
    ]

    private static func name(_ method: String, _ path: String) -> String {
        let segments = path.split(separator: "/").map(String.init)
        let isArgument = { (segment: String) in segment.utf8.first == UInt8(ascii: "{") }
        var words = segments.filter { !isArgument($0) }
        let endsWithArgument = segments.last.map(isArgument) ?? false
        let isDoneToOne = method == "POST" && segments.dropLast().last.map(isArgument) ?? false
        if let verb = words.last, Self.verbs.contains(verb) || isDoneToOne && Self.singular(verb) == verb {
            words.removeLast()
            // Other methods with the same effect, such as GET, need their own names.
            let how = method == "POST" ? "" : "By" + method.prefix(1) + method.dropFirst().lowercased()
            return verb + Self.noun(words.map(Self.singular)) + how
        }
        let owners = words.dropLast().map(Self.singular)
        let last = words.last ?? ""
        let one = Self.noun(owners + [Self.singular(last)])
        let many = Self.noun(owners + [last])
        let isList = !endsWithArgument && Self.singular(last) != last
        return switch method {
        case "GET": isList ? "list" + many : "get" + one
        case "POST": isList ? "create" + one : "get" + one
        case "PUT": isList ? "replace" + many : "replace" + one
        default: isList ? "removeAll" + many : "remove" + one
        }
    }

    private static func noun(_ words: [String]) -> String {
        words.flatMap { $0.split(separator: "-") }.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    private static func singular(_ word: String) -> String {
        if word.hasSuffix("ies") { return word.dropLast(3) + "y" }
        if word.hasSuffix("shes") { return String(word.dropLast(2)) }
        return word.hasSuffix("s") && !word.hasSuffix("ss") && word != "status" ? String(word.dropLast()) : word
    }
}
