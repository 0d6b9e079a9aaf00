import ExactJSON

/// The screens around a decision, as a release of real servers shows them.
struct ShownUI {
    let profile: EmulatorServerProfile
    /// Indicates whether the device may scan the operation's proximity code.
    let hasProximityCode: Bool

    /// Returns the members of a template's filled `ui` that the release knows. ``StoredUI`` has checked what it is filled from.
    func shown(_ ui: JSONObject) -> JSONObject {
        var shown: JSONObject = [:]
        for member in ui.members where !member.value.isNull {
            switch member.key {
            case "flipButtons", "blockApprovalOnCall":
                shown[member.key] = ((try? ui.optionalBool(member.key)) ?? nil).map { .bool($0) }
            case "templates": shown[member.key] = member.value.withoutNulls
            case "preApprovalScreen": shown[member.key] = self.preApprovalScreen(member.value).map { .object($0) }
            case "preApprovalScreens" where self.profile.listsPreApprovalScreens:
                let screens = (member.value.array ?? []).filter { self.mayShow($0) }
                if !screens.isEmpty { shown[member.key] = .array(screens.map(\.withoutNulls)) }
            case "postApprovalScreen": shown[member.key] = .object(Self.postApprovalScreen(member.value))
            default: break
            }
        }
        return shown
    }

    /// Returns the presentation for a template's risk flags: `X` flips buttons, `C` forbids a decision during a call, `F` warns
    /// of fraud, with a screen without text.
    static func shown(riskFlags: String) -> JSONObject {
        var shown: JSONObject = [:]
        if riskFlags.utf8.contains(UInt8(ascii: "X")) { shown["flipButtons"] = true }
        if riskFlags.utf8.contains(UInt8(ascii: "C")) { shown["blockApprovalOnCall"] = true }
        if riskFlags.utf8.contains(UInt8(ascii: "F")) {
            shown["preApprovalScreen"] = ["type": "WARNING", "approvalType": "SLIDER"]
        }
        return shown
    }

    private func mayShow(_ screen: JSONValue) -> Bool {
        self.hasProximityCode || screen["type"]?.string != "QR_SCAN"
    }

    private func preApprovalScreen(_ screen: JSONValue) -> JSONObject? {
        var shown = Self.members(of: screen, "type", "heading", "message", "items", "approvalType")
        shown["type"] = ((try? shown.enumeration("type", of: StoredUI.screenTypes)) ?? nil).map { .string($0) }
        return self.mayShow(.object(shown)) ? shown : nil
    }

    private static func postApprovalScreen(_ screen: JSONValue) -> JSONObject {
        var shown = Self.members(of: screen, "type", "heading", "message", "payload")
        var payload = shown["payload"]?.object
        switch shown["type"]?.string {
        case "MERCHANT_REDIRECT": if payload?["countdown"] == nil { payload?["countdown"] = 0 }
        case "REVIEW":
            let attributes = payload?["attributes"]?.array?.map { attribute in
                attribute["type"] == "HEADING" && attribute["level"] == nil ? attribute.adding("level", 0) : attribute
            }
            if let attributes { payload?["attributes"] = .array(attributes) }
        default: return shown
        }
        shown["payload"] = payload.map { .object($0) }
        return shown
    }

    /// Returns the members that real servers know, strings in place of numbers and Booleans.
    private static func members(of screen: JSONValue, _ known: String...) -> JSONObject {
        let members = (screen.withoutNulls.object ?? [:]).members.filter { known.contains($0.key) }
        let object = JSONObject(members)
        return JSONObject(
            members.map { member in
                let string = ["heading", "message"].contains(member.key) ? try? object.optionalString(member.key) : nil
                return .init(key: member.key, value: string.map { .string($0) } ?? member.value)
            }
        )
    }
}

extension JSONValue {
    /// The value without null members at any depth. Elements of lists stay.
    fileprivate var withoutNulls: Self {
        switch self {
        case .object(let object):
            .object(
                JSONObject(
                    object.members.filter { !$0.value.isNull }.map { .init(key: $0.key, value: $0.value.withoutNulls) }
                )
            )
        case .array(let elements): .array(elements.map(\.withoutNulls))
        default: self
        }
    }

    fileprivate func adding(_ name: String, _ value: Self) -> Self {
        guard var object = self.object else { return self }
        object[name] = value
        return .object(object)
    }
}

extension EmulatorServerProfile {
    /// Indicates whether an operation may have a list of pre-approval screens: from 2.1 on.
    fileprivate var listsPreApprovalScreens: Bool { self.release >= .v2_1 }
}
