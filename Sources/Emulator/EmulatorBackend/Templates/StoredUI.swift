import Basics
import ExactJSON

/// The reading of a template's `ui` by real servers, before its placeholders are filled: a member of another type than they expect
/// makes the whole list fail. The message is that of their reader, with the place in the row.
///
/// The row is taken to be written with a blank after each comma and colon.
struct StoredUI {
    /// The type that a member has in real servers.
    private indirect enum Form {
        case flag, string, strings, anything
        case enumeration(type: String, values: [String])
        case object(type: String, members: [String: Form])
        /// An object whose member `type` names its class.
        case subtype(of: String, names: [String], members: [String: Form])
    }

    fileprivate struct Mistake: Error {
        let message: String
        let column: Int
        var path: [String] = []
    }

    static let screenTypes = ["QR_SCAN", "WARNING", "INFO"]
    private static let package = "com.wultra.security.powerauth.lib.mtoken.model.entity."
    private static let screen = Self.package + "PreApprovalScreen"

    private static let form = Form.object(
        type: Self.package + "UiExtensions",
        members: [
            "flipButtons": .flag, "blockApprovalOnCall": .flag,
            "preApprovalScreen": .object(
                type: Self.screen,
                members: [
                    "type": .enumeration(type: Self.screen + "$ScreenType", values: Self.screenTypes),
                    "heading": .string, "message": .string, "items": .strings, "approvalType": .string,
                ]
            ),
            "postApprovalScreen": .subtype(
                of: Self.package + "PostApprovalScreen",
                names: ["GENERIC", "MERCHANT_REDIRECT", "REVIEW"],
                members: ["heading": .string, "message": .string]
            ),
        ]
    )

    /// Throws the response of real servers to a `ui` that they cannot read.
    static func check(_ ui: JSONValue) throws(Refusal) {
        do throws(Mistake) {
            try Self.check(ui, in: "", [:], as: Self.form, at: 1)
        } catch {
            let place =
                " at [Source: REDACTED (`StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION` disabled); line: 1, column: "
            let chain = error.path.isEmpty ? "" : " (through reference chain: \(error.path.joined(separator: "->")))"
            throw Refusal(
                500,
                "ERR_CONFIG",
                "Invalid JSON structure for the configuration: \(error.message)\n\(place)\(error.column)]\(chain)",
                because: "real servers do not read the template's 'ui', and show no list with the operation"
            )
        }
    }

    /// - Parameter column: The place of the value, from 1 on.
    private static func check(
        _ value: JSONValue,
        in name: String,
        _ owner: JSONObject,
        as form: Form,
        at column: Int
    ) throws(Mistake) {
        guard !value.isNull else { return }
        switch form {
        case .anything: return
        case .flag where (try? owner.optionalBool(name)) == nil:
            let string = value.string.map { "String \"\($0)\": only \"true\" or \"false\" recognized" }
            throw .type("java.lang.Boolean", value, string, column)
        case .string where (try? owner.optionalString(name)) == nil:
            throw .type("java.lang.String", value, nil, column)
        case .flag, .string: return
        case .strings:
            guard let elements = value.array else {
                throw .type("java.util.ArrayList<java.lang.String>", value, nil, column)
            }
            try Self.check(elements, at: column)
        case .enumeration(let type, let values):
            guard (try? owner.enumeration(name, of: values)) == nil else { return }
            let list = values.joined(separator: ", ")
            let string = value.string.map {
                "String \"\($0)\": not one of the values accepted for Enum class: [\(list)]"
            }
            throw .type(type, value, string, column)
        case .object(let type, let members):
            try Self.check(object: value, type, members, at: column)
        case .subtype(let type, let names, let members):
            guard let object = value.object else { throw .type(type, value, nil, column) }
            try Self.check(typeOf: object, among: names, of: type, as: name, at: column)
            try Self.check(object: value, type, members, at: column)
        }
    }

    private static func check(_ elements: [JSONValue], at column: Int) throws(Mistake) {
        var place = column + 1
        for (index, element) in elements.enumerated() {
            do throws(Mistake) {
                try Self.check(element, in: "e", ["e": element], as: .string, at: place)
            } catch {
                throw error.inside("java.util.ArrayList[\(index)]")
            }
            place += element.spacedLength + 2
        }
    }

    private static func check(
        object value: JSONValue,
        _ type: String,
        _ members: [String: Form],
        at column: Int
    ) throws(Mistake) {
        guard let object = value.object else { throw .type(type, value, nil, column) }
        for (member, place) in object.places(from: column) {
            do throws(Mistake) {
                try Self.check(member.value, in: member.key, object, as: members[member.key] ?? .anything, at: place)
            } catch {
                throw error.inside("\(type)[\"\(member.key)\"]")
            }
        }
    }

    private static func check(
        typeOf object: JSONObject,
        among names: [String],
        of type: String,
        as property: String,
        at column: Int
    ) throws(Mistake) {
        let property = "(for POJO property '\(property)')"
        guard let name = (try? object.optionalString("type")) ?? nil else {
            let end = column + JSONValue.object(object).spacedLength - 1
            let message =
                "Could not resolve subtype of [simple type, class \(type)]: missing type id property 'type' \(property)"
            throw Mistake(message: message, column: end)
        }
        guard !names.contains(where: name.isExactly) else { return }
        let place = object.places(from: column).first { $0.member.key == "type" }?.column ?? column
        let known = names.joined(separator: ", ")
        let message =
            "Could not resolve type id '\(name)' as a subtype of `\(type)`: known type ids = [\(known)] \(property)"
        throw Mistake(message: message, column: place)
    }
}

extension StoredUI.Mistake {
    fileprivate static func type(_ type: String, _ value: JSONValue, _ string: String?, _ column: Int) -> Self {
        let found =
            switch value {
            case .object: "Object value (token `JsonToken.START_OBJECT`)"
            case .array: "Array value (token `JsonToken.START_ARRAY`)"
            case .string: string ?? "String value (token `JsonToken.VALUE_STRING`)"
            case .number(let number):
                number.int64 == nil
                    ? "Floating-point value (token `JsonToken.VALUE_NUMBER_FLOAT`)"
                    : "Integer value (token `JsonToken.VALUE_NUMBER_INT`)"
            case .bool(let flag): "Boolean value (token `JsonToken.VALUE_\(flag ? "TRUE" : "FALSE")`)"
            case .null: "Null value (token `JsonToken.VALUE_NULL`)"
            }
        return Self(message: "Cannot deserialize value of type `\(type)` from \(found)", column: column)
    }

    fileprivate func inside(_ place: String) -> Self {
        Self(message: self.message, column: self.column, path: [place] + self.path)
    }
}

extension JSONObject {
    /// The members with the columns of their values, if the object begins at `column`.
    fileprivate func places(from column: Int) -> [(member: Member, column: Int)] {
        var place = column + 1
        return self.members.map { member in
            let value = place + JSONValue.string(member.key).spacedLength + 2
            place = value + member.value.spacedLength + 2
            return (member, value)
        }
    }
}

extension JSONValue {
    /// The number of characters of its text with a blank after each comma and colon.
    fileprivate var spacedLength: Int {
        switch self {
        case .object(let object):
            let count = object.members.count
            return object.members.reduce(2 + 2 * count + 2 * max(count - 1, 0)) { length, member in
                length + Self.string(member.key).spacedLength + member.value.spacedLength
            }
        case .array(let elements):
            return elements.reduce(2 + 2 * max(elements.count - 1, 0)) { $0 + $1.spacedLength }
        default: return String(decoding: self.serialized(), as: UTF8.self).unicodeScalars.count
        }
    }
}
