import CommandLineSupport
import Foundation
import MobileTokenApprovals
import PowerAuth

/// The options that describe the question and its people.
enum AskRequest {
    static let options: [Command.Option] = [
        .init("template", "NAME", "the template, whose signed form the profile pins"),
        .init("user", "NAME", "the person who must approve"),
        .init("all", nil, "all people of --of must approve"),
        .init("any", "NUMBER", "as many people of --of must approve"),
        .init("of", "NAME,NAME", "those who are asked, with --all or --any", isRepeatable: true),
        .init("exclude", "NAME,NAME", "those who may not approve, such as who requests it", isRepeatable: true),
        .init("in-order", nil, "ask one person after the other"),
        .init("until-impossible", nil, "one rejection does not end it, as long as enough people are left"),
        .init(
            "parameter",
            "NAME=VALUE",
            "a value that is shown and signed: printable ASCII",
            letter: "p",
            isRepeatable: true
        ),
        .init("text", "NAME=VALUE", "one in any script", isRepeatable: true),
        .init("id", "ID", "the name of the question, used once; the same one goes on waiting (default: a new one)"),
        .init("wait", "TIME", "the time within which people can decide, such as 90s or 5m (default: 5m)"),
        .init("valid-for", "TIME", "the time within which the approval can be used (default: 5m)"),
        .init("factor", "FACTORS", "factors that count, such as possession_knowledge", isRepeatable: true),
        .init("device", "ID", "a registration that may decide (default: any)", isRepeatable: true),
        .init("minimum-device-age", "TIME", "the time that the deciding device must be older than the question"),
        .init("offline-registration", "USER=ID", "whose offline QR code tells what is signed", isRepeatable: true),
        .init(
            "device-key",
            "NAME=FILE",
            "a person's device key (PEM), which must have signed; along with the profile's",
            isRepeatable: true
        ),
        .init("accept-unverified-data", nil, "accept that the server does not show what was signed"),
        .init("keep", nil, "on a signal, leave the question asked"),
    ]

    /// Returns the request for a command.
    ///
    /// - Throws: `UsageError`.
    static func make(
        _ invocation: Invocation,
        _ settings: AskSettings,
        _ command: BoundCommand
    ) throws -> ApprovalRequest {
        guard let template = invocation["template"] else {
            throw invocation.misuse("--template is missing")
        }
        let id = invocation["id"] ?? "ask-\(UUID().uuidString.lowercased())"
        var request = ApprovalRequest(
            id: id,
            from: try self.approvers(invocation, settings),
            template: try settings.template(template),
            parameters: try self.parameters(invocation),
            action: try command.action,
            expires: try invocation.duration("wait") ?? .seconds(300)
        )
        request.language = invocation["language"]
        if let time = try invocation.duration("valid-for") { request.validFor = time }
        let (factors, devices) = (invocation.all("factor"), invocation.all("device"))
        if !factors.isEmpty { request.factors = Set(factors) }
        if !devices.isEmpty { request.devices = Set(devices) }
        request.minimumDeviceAge = try invocation.duration("minimum-device-age")
        request.offlineRegistrations = try self.pairs("offline-registration", invocation)
        request.deviceKeys = try settings.deviceKeys(adding: self.deviceKeys(invocation))
        if invocation.has("accept-unverified-data") { request.accepting = .unverifiedData }
        if invocation.has("keep") { request.onCancel = .keep }
        return request
    }

    private static func approvers(_ invocation: Invocation, _ settings: AskSettings) throws -> Approvers {
        func people(_ option: String) throws -> [Approvers.Person] {
            let names = invocation.all(option).flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
            // For example from an unset variable: the person to exclude could approve.
            guard !names.contains("") else {
                throw invocation.misuse("--\(option): a name is empty")
            }
            return names.map { settings.person(String($0)) }
        }
        let asked = try people("of")
        let (isInOrder, isAll) = (invocation.has("in-order"), invocation.has("all"))
        let rule: Approvers.RejectionRule = invocation.has("until-impossible") ? .untilImpossible : .ends
        let approvers: Approvers
        switch (invocation["user"], isAll, try invocation.integer("any", in: 1...100)) {
        case (let user?, false, nil) where asked.isEmpty && !isInOrder && rule == .ends:
            approvers = .all(of: [settings.person(user)])
        case (nil, true, nil) where rule == .ends: approvers = .all(of: asked, inOrder: isInOrder)
        case (nil, false, let count?): approvers = .any(count, of: asked, inOrder: isInOrder, onRejection: rule)
        default:
            throw invocation.misuse("say who must approve: --user NAME, --all --of NAMES, or --any NUMBER --of NAMES")
        }
        return approvers.excluding(try people("exclude"))
    }

    private static func parameters(_ invocation: Invocation) throws -> [String: ApprovalRequest.Parameter] {
        let ascii = try self.pairs("parameter", invocation).mapValues { ApprovalRequest.Parameter.ascii($0) }
        let text = try self.pairs("text", invocation).mapValues { ApprovalRequest.Parameter.text($0) }
        if let name = ascii.keys.first(where: { text[$0] != nil }) {
            throw invocation.misuse("the parameter '\(name)' is given twice")
        }
        return ascii.merging(text) { first, _ in first }
    }

    /// Returns the values of an option of the form `NAME=VALUE`.
    static func pairs(_ option: String, _ invocation: Invocation) throws -> [String: String] {
        try self.list(option, invocation).reduce(into: [:]) { pairs, pair in
            guard pairs.updateValue(pair.value, forKey: pair.name) == nil else {
                throw invocation.misuse("'\(pair.name)' is given twice")
            }
        }
    }

    private static func list(_ option: String, _ invocation: Invocation) throws -> [(name: String, value: String)] {
        try invocation.all(option).map { word in
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map { String($0) }
            guard parts.count == 2, !parts[0].isEmpty else {
                throw invocation.misuse("--\(option) takes a name, = and a value")
            }
            return (parts[0], parts[1])
        }
    }

    /// Returns the PEM keys in the files of `--device-key`, by person: a person may have several devices.
    static func deviceKeys(_ invocation: Invocation) throws -> [String: [String]] {
        try self.list("device-key", invocation).reduce(into: [:]) { keys, pair in
            do {
                let key = try DeviceKey.PublicKey(pem: String(contentsOfFile: pair.value, encoding: .utf8))
                keys[pair.name, default: []].append(key.pem)
            } catch {
                let reason = (error as? MobileTokenError)?.message ?? error.localizedDescription
                throw invocation.misuse("the device key '\(pair.value)': \(reason)")
            }
        }
    }
}
