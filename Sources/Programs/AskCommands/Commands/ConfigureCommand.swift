import CommandLineSupport
import ExactJSON
import Foundation
import HTTPClientTransport
import MobileTokenApprovals

extension AskCommands {
    var configure: Command {
        let openers = self.openers
        return Command(
            "ask",
            "configure",
            summary: "Set what the profile asks for, at which server, and what its templates sign.",
            discussion: """
                The settings are in asking.json in the profile's folder; a call changes only those that it names. The first call needs
                --audience and --cloud-url. One audience has one ledger, by default in the profile's folder. Do not copy it, and never back
                it up together with the file beside it that ends in -lease.
                """,
            options: [
                .init("audience", "NAME", "the target of the approvals, such as billing/production"),
                .init("cloud-url", "URL", "PowerAuth Cloud (default: $MOBILE_TOKEN_CLOUD_URL, for a new profile)"),
                .init("cloud-credentials", "FILE", "where the credentials are; the file itself is not read yet"),
                .init(
                    "signs",
                    "NAME=FORM",
                    "a template, and the form of what it signs, with ${binding}",
                    isRepeatable: true
                ),
                .init(
                    "operation-type",
                    "NAME=TYPE",
                    "the type of a template's operations (default: any)",
                    isRepeatable: true
                ),
                .init("person", "NAME=USER,USER", "a person with other user ids than the name", isRepeatable: true),
                .init(
                    "device-key",
                    "NAME=FILE",
                    "a person's device key (PEM), instead of those before: with any, everybody asked needs one",
                    isRepeatable: true
                ),
                .init(
                    "ledger",
                    openers.map(\.form).joined(separator: "|"),
                    "where the ledger is (default: in the profile's folder)"
                ),
            ]
                + self.missing([
                    .profile, .home,
                    .sealingKey("sealing-key", default: "beside the ledger", note: "; the profile keeps it"),
                    .proxy, .insecureHTTP, .caFile, .pin,
                ])
        ) { invocation in
            let folder = try ProfileHome(invocation).profile(invocation)
            let settings = try Self.settings(invocation, try AskSettings.load(folder), openers)
            try folder.save(settings, to: folder.askingFile)
            let document = try JSONValue(encoding: settings)
            Output(isJSON: invocation.has("json")).outcome(
                document,
                text: "The profile \(folder.name) asks for \(TextTable.printable(settings.audience)) at "
                    + "\(TextTable.printable(settings.cloud.url)); templates: "
                    + TextTable.printable(settings.templates.keys.sorted().joined(separator: ", "))
            )
            return .done
        }
    }

    /// Returns the settings as changed by the options.
    private static func settings(
        _ invocation: Invocation,
        _ stored: AskSettings?,
        _ openers: [LedgerOpener]
    ) throws -> AskSettings {
        func environment(_ name: String) -> String? {
            guard stored == nil else { return nil }
            return ProcessInfo.processInfo.environment["MOBILE_TOKEN_\(name)"].flatMap { $0.isEmpty ? nil : $0 }
        }
        func path(_ file: String) -> String { URL(filePath: file).absoluteURL.path }
        guard let audience = invocation["audience"] ?? stored?.audience,
            let url = invocation["cloud-url"] ?? stored?.cloud.url ?? environment("CLOUD_URL")
        else {
            throw invocation.misuse("--audience and --cloud-url are needed: the profile does not ask for anything yet")
        }
        guard stored.map({ $0.audience == audience }) ?? true else {
            throw invocation.misuse(
                "the profile asks for '\(stored?.audience ?? "")': another audience is another profile, with another ledger"
            )
        }
        var cloud = stored?.cloud ?? AskSettings.Cloud(url: url)
        cloud.url = url
        if let file = invocation["cloud-credentials"] { cloud.credentialsFile = path(file) }
        if let file = invocation["ca-file"] ?? environment("CA_FILE") { cloud.caFile = path(file) }
        if let pin = invocation["pin"] ?? environment("PIN") { cloud.pin = pin }
        if invocation.has("insecure-http") { cloud.allowsInsecureHTTP = true }
        if let proxy = invocation["proxy"] {
            let choice = try ProxyChoice(proxy, command: invocation.command)
            if cloud.allowsInsecureHTTP != true { try choice.requireTLS(url) }
            cloud.proxy = choice.description
        }
        var settings = stored ?? AskSettings(audience: audience, cloud: cloud, templates: [:])
        settings.cloud = cloud
        if let ledger = invocation["ledger"] {
            let place = try LedgerPlace(ledger)
            guard openers.contains(where: { $0.scheme == place.scheme }) else {
                throw UsageError(message: "--ledger takes \(openers.map(\.form).joined(separator: " or "))")
            }
            settings.ledger = place.description
        }
        if let key = try invocation.sealingKey("sealing-key") { settings.sealingKey = key.description }
        try self.changeTemplates(&settings, invocation)
        for (name, users) in try AskRequest.pairs("person", invocation) {
            settings.people = settings.people ?? [:]
            settings.people?[name] = users.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
        }
        for (name, keys) in try AskRequest.deviceKeys(invocation) {
            settings.deviceKeys = settings.deviceKeys ?? [:]
            settings.deviceKeys?[name] = keys
        }
        try self.check(settings)
        return settings
    }

    private static func changeTemplates(_ settings: inout AskSettings, _ invocation: Invocation) throws {
        for (name, form) in try AskRequest.pairs("signs", invocation) {
            settings.templates[name, default: .init(signs: form)].signs = form
        }
        for (name, type) in try AskRequest.pairs("operation-type", invocation) {
            guard settings.templates[name] != nil else {
                throw UsageError(message: "the profile has no template '\(name)': give --signs too")
            }
            settings.templates[name]?.operationType = type
        }
    }

    /// Throws if 'ask' would refuse the settings.
    private static func check(_ settings: AskSettings) throws {
        do {
            for name in settings.templates.keys { try settings.template(name).checkForm() }
        } catch let error as ApprovalError {
            throw UsageError(message: error.message)
        }
        let transport = try settings.transport(timeout: nil)
        let rule = BaseURLRule(
            allowsInsecureHTTP: settings.cloud.allowsInsecureHTTP ?? false,
            requiresTLS: transport.requiresTLS
        )
        do { _ = try rule.validated(settings.cloud.url, "--cloud-url") } catch {
            throw UsageError(message: error.message)
        }
    }
}
