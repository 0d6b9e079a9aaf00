import Basics
public import ExactJSON
public import Foundation
public import OperationScreens
public import PowerAuthClient

/// A pending or decided operation, as the server describes it.
///
/// Copies share one storage. Two operations are equal if the server sent the same for both, custom members included.
public struct UserOperation: Sendable, Identifiable, AuthorizableOperation {
    private let storage: Storage

    /// A one-time code to send along with the authorization.
    public var proximityCheck: UserOperation.ProximityCheck?
    /// Data on the client for the server, sent with the decision.
    public var mobileTokenData: JSONObject?

    /// The operation's identifier.
    public var id: String { self.storage.id }
    /// The name of the operation's kind, such as `authorize_payment`.
    public var name: String { self.storage.name }
    /// The data to sign, exactly as the server sent them.
    public var data: String { self.storage.data }
    /// The state of the operation.
    public var status: UserOperation.Status { self.storage.status }
    /// The reason for the status.
    public var statusReason: String? { self.storage.statusReason }
    /// The time of creation, in the server's time.
    public var created: Date { self.storage.created }
    /// The deadline for a decision, in the server's time.
    public var expires: Date { self.storage.expires }
    /// The factors required to sign it.
    package var allowedSignatureType: UserOperation.AllowedSignatureType { self.storage.allowedSignatureType }
    /// The form shown to a person before deciding.
    public var formData: OperationForm { self.storage.formData }
    /// The server's presentation hints. Their members are seen with `import MobileTokenScreens`.
    public var ui: OperationUI? { self.storage.ui }
    /// The attributes to show after the approval; empty unless the server asks for a review then.
    public var reviewAttributes: [UserOperation.Attribute] { self.storage.reviewAttributes }
    /// The operation exactly as the server sent it, including members unknown to this version.
    public var json: [UInt8] { self.storage.json }
    /// The unreadable parts of the presentation, which are left out: at most 100, at least one if there are any.
    public var issues: [DecodingIssue] { self.storage.issues }

    /// Indicates whether the operation is pending and the server accepts factors known to this version.
    public var isAuthorizable: Bool { self.status == .pending && self.allowedSignatureType.isAuthorizable }

    /// Returns whether the operation is pending and the server accepts these factors for it.
    public func allows(_ authentication: Activation.Authentication) -> Bool {
        self.status == .pending && self.allowedSignatureType.allows(authentication)
    }

    /// Creates an operation, such as for a test or a preview.
    ///
    /// It requires two factors. Its ``json`` is what a server would send, so dates are cut to whole seconds.
    ///
    /// - Parameters:
    ///   - id: The operation's identifier.
    ///   - name: The name of the operation's kind, such as `authorize_payment`.
    ///   - data: The data to sign.
    ///   - status: The state of the operation.
    ///   - statusReason: The server's reason for `status`.
    ///   - created: By default the local date.
    ///   - expires: By default five minutes after `created`.
    ///   - formData: By default without title, message and attributes.
    ///   - proximityCheck: A one-time code to send with the authorization.
    ///   - mobileTokenData: Data on the client for the server.
    public init(
        id: String,
        name: String,
        data: String,
        status: UserOperation.Status = .pending,
        statusReason: String? = nil,
        created: Date = Date(),
        expires: Date? = nil,
        formData: OperationForm = OperationForm(title: "", message: ""),
        proximityCheck: UserOperation.ProximityCheck? = nil,
        mobileTokenData: JSONObject? = nil
    ) {
        self.init(
            id: id,
            name: name,
            data: data,
            status: status,
            statusReason: statusReason,
            created: created,
            expires: expires,
            allowedSignatureType: .twoFactors,
            formData: formData,
            proximityCheck: proximityCheck,
            mobileTokenData: mobileTokenData
        )
    }

    /// Creates an operation that requires other factors.
    package init(
        id: String,
        name: String,
        data: String,
        status: UserOperation.Status = .pending,
        statusReason: String? = nil,
        created: Date = Date(),
        expires: Date? = nil,
        allowedSignatureType: UserOperation.AllowedSignatureType,
        formData: OperationForm = OperationForm(title: "", message: ""),
        proximityCheck: UserOperation.ProximityCheck? = nil,
        mobileTokenData: JSONObject? = nil
    ) {
        self.storage = Storage(
            id: id,
            name: name,
            data: data,
            status: status,
            statusReason: statusReason,
            created: created.wholeSeconds,
            expires: (expires ?? created + 300).wholeSeconds,
            allowedSignatureType: allowedSignatureType,
            formData: formData
        )
        self.proximityCheck = proximityCheck
        self.mobileTokenData = mobileTokenData
    }

    /// Reads the JSON of one operation.
    ///
    /// - Throws: `invalidResponse`; its underlying error is a ``DecodingIssue`` that names the member, or a `JSONError`.
    public init(parsing json: [UInt8]) throws(MobileTokenError) {
        do {
            var log = IssueLog()
            try self.init(JSONDocument(parsing: json).root, &log)
        } catch {
            throw .unreadableResponse("The operation cannot be read: \(error)", underlying: error)
        }
    }

    /// Reads the JSON of one operation, as ``init(parsing:)`` reads bytes.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidResponse`` if the operation cannot be read.
    package init(parsing json: JSONValue) throws(MobileTokenError) {
        try self.init(parsing: json.serialized())
    }

    /// Decodes an application's own type from the operation's JSON, for members that only this server sends.
    ///
    /// `Decimal` members get every digit; `Date` members are read in the server's date format.
    ///
    /// - Throws: A `DecodingError` if a member is missing or has another type.
    public func decodeCustom<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
        if let value = try JSONValue(parsing: self.json) as? Value { return value }
        return try JSONValue.decode(type, from: self.json)
    }

    /// A member of the operation's JSON by name, unchanged.
    public subscript(custom name: String) -> JSONValue? {
        // The bytes come from a checked string, so only half a surrogate pair can fail.
        guard let view = (try? JSONDocument(parsing: self.json))?.root[name] else { return nil }
        return try? JSONValue(view)
    }
}

extension Date {
    fileprivate var wholeSeconds: Date { Date(timeIntervalSince1970: self.timeIntervalSince1970.rounded(.down)) }
}

// MARK: - Decoding

extension UserOperation {
    init(_ view: JSONView, _ log: inout IssueLog) throws(DecodingIssue) {
        guard view.isObject else { throw log.issue(.unreadable(expected: "an operation"), at: view) }
        var own = log.forPart()
        defer { log.add(own) }
        self.proximityCheck = Self.proximityCheck(of: view, &own)
        self.storage = try Storage(view, &own)
    }

    private static func proximityCheck(of view: JSONView, _ log: inout IssueLog) -> UserOperation.ProximityCheck? {
        let check = view.optional("proximityCheck", .object, &log)
        return log.inside("proximityCheck") { log in
            do throws(DecodingIssue) {
                return try check.map { view throws(DecodingIssue) in try UserOperation.ProximityCheck(view, log) }
            } catch {
                log.report(error)
                return nil
            }
        }
    }

    /// The server's content, shared by all copies.
    fileprivate final class Storage: Sendable {
        let id: String
        let hashOfID: Int
        let name: String
        let data: String
        let status: UserOperation.Status
        let statusReason: String?
        let created: Date
        let expires: Date
        let allowedSignatureType: UserOperation.AllowedSignatureType
        let formData: OperationForm
        let ui: OperationUI?
        let reviewAttributes: [UserOperation.Attribute]
        let json: [UInt8]
        let issues: [DecodingIssue]

        init(
            id: String,
            name: String,
            data: String,
            status: UserOperation.Status,
            statusReason: String?,
            created: Date,
            expires: Date,
            allowedSignatureType: UserOperation.AllowedSignatureType,
            formData: OperationForm
        ) {
            self.id = id
            self.hashOfID = ExactString(id).hashValue
            self.name = name
            self.data = data
            self.status = status
            self.statusReason = statusReason
            self.created = created
            self.expires = expires
            self.allowedSignatureType = allowedSignatureType
            self.formData = formData
            (self.ui, self.reviewAttributes) = (nil, [])
            var members: JSONObject = [
                "id": .string(id), "name": .string(name), "data": .string(data), "status": .string(status.rawValue),
                "operationCreated": .string(ISO8601.string(from: created)),
                "operationExpires": .string(ISO8601.string(from: expires)),
                "allowedSignatureType": allowedSignatureType.json, "formData": formData.json,
            ]
            members["statusReason"] = statusReason.map { .string($0) }
            self.json = JSONValue.object(members).serialized()
            self.issues = []
        }

        init(_ view: JSONView, _ log: inout IssueLog) throws(DecodingIssue) {
            self.id = try view.required("id", .identifier, log)
            self.hashOfID = ExactString(self.id).hashValue
            self.name = try view.required("name", .string, log)
            self.data = try view.required("data", .string, log)
            self.status = try view.ifPresent("status", .known, log) ?? .pending
            self.statusReason = view.optional("statusReason", .string, &log)
            self.created = try view.required("operationCreated", .date, log)
            self.expires = try view.required("operationExpires", .date, log)
            let allowed = try view.required("allowedSignatureType", .object, log)
            self.allowedSignatureType = try log.inside("allowedSignatureType") { log throws(DecodingIssue) in
                try UserOperation.AllowedSignatureType(allowed, &log)
            }
            let form = try view.required("formData", .object, log)
            self.formData = try log.inside("formData") { log throws(DecodingIssue) in try OperationForm(form, &log) }
            var review: [UserOperation.Attribute] = []
            self.ui = view.optional("ui", .object, &log).map { ui in
                log.inside("ui") { log in OperationUI(ui, review: &review, &log) }
            }
            self.reviewAttributes = review
            self.json = Array(view.bytes)
            self.issues = log.issues
        }
    }
}

// MARK: - Equality and coding

extension UserOperation: Hashable {
    /// Returns whether the server sent the same for both, ignoring white space and the order of members.
    public static func == (one: Self, other: Self) -> Bool {
        guard one.proximityCheck == other.proximityCheck, one.mobileTokenData == other.mobileTokenData else {
            return false
        }
        // An unchanged operation is the same storage or has the same bytes, so this nearly always decides.
        if one.storage === other.storage || one.json.hasSameBytes(as: other.json) { return true }
        guard one.id.isExactly(other.id), let members = one.serverMembers else { return false }
        return members == other.serverMembers
    }

    /// The identifier as a key: hashed once, when the operation is read, and not compared between copies.
    package struct Identity: Hashable, Sendable {
        fileprivate let storage: Storage

        package static func == (one: Self, other: Self) -> Bool {
            one.storage === other.storage || one.storage.id.isExactly(other.storage.id)
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(self.storage.hashOfID)
        }
    }

    package var identity: Identity { Identity(storage: self.storage) }

    /// Hashes only the identity: lists rarely have two states of one operation.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.identity)
    }

    /// The members of the JSON without those that an application may set.
    private var serverMembers: JSONObject? {
        var members = (try? JSONValue(parsing: self.json))?.object
        members?["proximityCheck"] = nil
        members?["mobileTokenData"] = nil
        return members
    }
}

/// An operation is encoded as a string of its JSON, because coders change digits and the order of members.
extension UserOperation: Codable {
    /// Decodes an operation that was encoded here, or one as a server sends it.
    public init(from decoder: any Decoder) throws {
        do {
            let text = try? decoder.singleValueContainer().decode(String.self)
            let json = try text.map { text in try JSONValue(parsing: text) } ?? JSONValue(from: decoder)
            try self.init(parsing: json)
            self.mobileTokenData = json["mobileTokenData"]?.object
        } catch let error as MobileTokenError {
            let context = DecodingError.Context(
                codingPath: decoder.codingPath,
                debugDescription: error.message,
                underlyingError: error.underlying
            )
            throw DecodingError.dataCorrupted(context)
        }
    }

    /// Encodes the operation as the server sent it, plus the proximity check and the data for the server.
    public func encode(to encoder: any Encoder) throws {
        var members = try JSONValue(parsing: self.json).object ?? [:]
        members["proximityCheck"] = self.proximityCheck.map { .object($0.json) }
        members["mobileTokenData"] = self.mobileTokenData.map { .object($0) }
        var container = encoder.singleValueContainer()
        try container.encode(String(decoding: JSONValue.object(members).serialized(), as: UTF8.self))
    }
}

extension UserOperation: CustomStringConvertible {
    /// The name, the identifier and the status.
    public var description: String {
        let parts = [self.name, self.id, self.status.rawValue].map { DisplayText.escaped($0, limit: 64) }
        return "<operation \(parts.joined(separator: " "))>"
    }
}
