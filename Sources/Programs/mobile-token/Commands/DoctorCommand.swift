import CommandLineSupport
import ExactJSON
import Foundation
import MobileToken
import PowerAuth

/// Examines a server, and recommends a remedy for each problem.
enum DoctorCommand {
    static let doctor = Command(
        "doctor",
        summary: "Look at a server without signing anything, and say what to do about what is wrong.",
        discussion: """
            Takes --url and --sdk-configuration, or a profile. With an activation it also asks for its status and, with a token that is \
            kept, for its list; a token that the server refuses is made anew, with a signature of possession. The exit code is 1 when \
            something is wrong, and 3 when the server cannot be reached.
            """
    ) { invocation in
        let session = try Session(invocation)
        let server = try await session.client.examineServer()
        var findings = Finding.all(of: server)
        if case .success = server.release, let id = try await session.activationID() {
            findings += try await Finding.all(ofActivation: id, session)
        }
        var table = TextTable(header: "", "SUBJECT", "FINDING")
        for finding in findings {
            let remedy = finding.remedy.map { ". \($0)" } ?? ""
            table.add(finding.isWrong ? "✗" : "✓", finding.subject, TextTable.printable(finding.text) + remedy)
        }
        session.output.result(.array(findings.map(\.json)), text: table.text)
        if case .failure(let error) = server.release, error.httpStatus == nil { return .unavailable }
        return findings.contains(where: \.isWrong) ? .refused : .done
    }

    /// A finding of the examination.
    struct Finding {
        let subject: String
        let text: String
        /// The remedy; `nil` if none is needed.
        var remedy: String?
        /// Indicates whether a function fails until the remedy is applied.
        var isWrong = false

        static func wrong(_ subject: String, _ text: String, _ remedy: String) -> Self {
            Self(subject: subject, text: text, remedy: remedy, isWrong: true)
        }

        var json: JSONValue {
            [
                "subject": .string(self.subject), "isWrong": .bool(self.isWrong), "text": .string(self.text),
                "remedy": .optional(self.remedy),
            ]
        }
    }
}

// MARK: - The server

extension DoctorCommand.Finding {
    static func all(of server: ServerExamination) -> [Self] {
        let findings = [self.reachability(server.release)] + (server.clockLead.map { [self.time($0)] } ?? [])
        // The other findings would blame the settings of a PowerAuth server, and there is none.
        if case .failure = server.release, !server.hasAnyAPI { return findings }
        return findings + [self.protocolVersions(server.version4), self.application(server.applicationError)]
            + server.apis.map { self.api($0.api, $0.presence) }
    }

    private static func reachability(_ release: Result<ServerExamination.Release?, MobileTokenError>) -> Self {
        switch release {
        case .success(let release):
            let version =
                release?.version.flatMap { $0 == "UNKNOWN" ? nil : $0 } ?? "of a release that it does not tell"
            return Self(subject: "server", text: "\(release?.name ?? "a PowerAuth server") \(version)")
        case .failure(let error) where error.code == .tlsFailed:
            return .wrong(
                "server",
                error.message,
                "Give its authority with --ca-file, or its key with --pin; look whether the port speaks TLS"
            )
        case .failure(let error) where error.httpStatus == 404:
            return .wrong(
                "server",
                "there is no /pa/v3/status below this address",
                "--url ends with the context path, such as https://host/enrollment-server; where /pa is elsewhere, use --powerauth-url"
            )
        case .failure(let error) where error.httpStatus == nil && error.code != .invalidResponse:
            return .wrong("server", error.message, "Check --url, --proxy, the network, and that the server runs")
        case .failure(let error):
            let status = error.httpStatus.map { " with HTTP \($0)" } ?? ""
            return .wrong(
                "server",
                "the answer\(status) is not a PowerAuth server's",
                "Look at the proxy, gateway or page for signing in that is before the server"
            )
        }
    }

    private static func time(_ lead: TimeInterval) -> Self {
        let seconds = lead.magnitude.rounded().formatted(.number.grouping(.never))
        guard lead.magnitude > 60 else {
            return Self(subject: "time", text: "this machine's clock agrees within \(seconds) s")
        }
        return Self(
            subject: "time",
            text: "this machine's clock is \(seconds) s \(lead > 0 ? "ahead of" : "behind") the server's",
            remedy: "Requests follow the server's time; set the clock for the dates of receipts and logs"
        )
    }

    private static func protocolVersions(_ version4: ServerExamination.Presence) -> Self {
        switch version4 {
        case .present: Self(subject: "protocol", text: "versions 3 and 4")
        case .absent: Self(subject: "protocol", text: "version 3", remedy: "--protocol 4.0 does not work here")
        case .unclear(let error):
            .wrong("protocol", "version 4: \(error.message)", "Look at what stands before the server")
        }
    }

    private static func application(_ error: MobileTokenError?) -> Self {
        let subject = "application"
        guard let error else { return Self(subject: subject, text: "known, and its keys are this server's") }
        switch error.code {
        case _ where error.httpStatus == 404:
            return .wrong(
                subject,
                "the server gives no temporary keys",
                "It is older than 1.9: activate with --protocol 3.2"
            )
        case _ where error.serverCode != nil:
            return .wrong(
                subject,
                "the server does not know its key (\(error.serverCode ?? ""))",
                "Copy the SDK configuration of the application anew, and look whether its version is supported at the server"
            )
        case .invalidResponse:
            return .wrong(
                subject,
                "the server's answer is not signed by the master key of the SDK configuration",
                "The configuration is another server's or application's; copy it anew"
            )
        default: return .wrong(subject, error.message, "Try again; look at what stands before the server")
        }
    }

    private static func api(_ api: ServerExamination.API, _ presence: ServerExamination.Presence) -> Self {
        switch presence {
        case .present: Self(subject: api.rawValue, text: "enabled")
        case .absent where api == .operations: .wrong(api.rawValue, "not enabled", api.remedy)
        case .absent: Self(subject: api.rawValue, text: "not enabled", remedy: api.remedy)
        case .unclear(let error):
            .wrong(api.rawValue, error.message, "Look at the path rules of what stands before the server")
        }
    }
}

extension ServerExamination {
    fileprivate var hasAnyAPI: Bool {
        self.apis.contains { if case .present = $0.presence { true } else { false } }
    }
}

extension ServerExamination.API {
    /// The enrollment server's setting that enables it.
    fileprivate var remedy: String {
        switch self {
        case .operations: "Set enrollment-server.mtoken.enabled=true"
        case .inbox: "Set enrollment-server.inbox.enabled=true, if it is wanted"
        case .push: "Set powerauth.push.service.url, if it is wanted"
        case .transfer: "Set enrollment-server.activation-spawn.enabled=true, if it is wanted"
        case .openID: "It takes a newer enrollment server, if it is wanted"
        }
    }
}

// MARK: - The activation

extension DoctorCommand.Finding {
    static func all(ofActivation id: String, _ session: Session) async throws -> [Self] {
        do {
            let activation = try await session.activation()
            guard let evidence = activation.evidence?.source else { return [] }
            let status = try await evidence.unsignedStatus()
            var findings = [Self(subject: "activation", text: "\(id), \(status.state)")]
            if status.state != .active {
                findings = [.wrong("activation", "\(id), \(status.state)", Self.cure(of: status.state))]
            } else if !status.counter.canSign {
                findings = [.wrong("activation", "\(id), counter \(status.counter.result)", "Activate anew")]
            }
            let names = try await activation.tokenNames()
            guard names.contains(RequestAuthentication.universalTokenName), status.state == .active else {
                findings.append(
                    Self(subject: "list", text: "not asked for", remedy: "'list' makes the token that it takes")
                )
                return findings
            }
            let list = try await session.operations().fetchList()
            findings.append(Self(subject: "list", text: "\(list.operations.count) operations"))
            return findings
        } catch let error as MobileTokenError {
            return [.wrong("activation", error.message, "See 'mobile-token status'")]
        }
    }

    private static func cure(of state: ActivationState) -> String {
        switch state {
        case .created, .pendingCommit: "Commit it at the server"
        case .blocked: "Unblock it at the server"
        case .removed: "Activate anew"
        case .active: ""
        }
    }
}
