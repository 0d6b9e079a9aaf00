package import CommandLineSupport
import ExactJSON
import MobileTokenApprovals

/// The commands of a requester of approvals.
package struct AskCommands: Sendable {
    let openers: [LedgerOpener]
    private let common: [String]

    /// - Parameters:
    ///   - openers: The kinds of ledgers that the program can open.
    ///   - common: The options common to all commands of the program.
    package init(openers: [LedgerOpener] = [.sqlite], common: [Command.Option] = []) {
        (self.openers, self.common) = (openers, common.map(\.name))
    }

    package var all: [Command] {
        [self.ask, self.show, self.settle, self.withdraw, self.adopt, self.configure]
    }

    /// Returns a command's options with those that locate its profile and ledger.
    private func options(_ own: [Command.Option], _ shared: Command.Option...) -> [Command.Option] {
        own + self.openers.flatMap(\.options) + self.missing([.profile, .home] + shared)
    }

    /// Returns the options that the program does not already have.
    func missing(_ options: [Command.Option]) -> [Command.Option] {
        options.filter { !self.common.contains($0.name) }
    }

    /// The environment variables that the commands read.
    package static let environment = [
        ("MOBILE_TOKEN_CLOUD_URL", "the server that 'ask configure' names, as --cloud-url"),
        ("MOBILE_TOKEN_CLOUD_CREDENTIALS_FILE", "the credentials with which 'ask' asks, as --cloud-credentials"),
        ("MOBILE_TOKEN_CLOUD_USER", "the user with which 'ask' asks, along with MOBILE_TOKEN_CLOUD_PASSWORD"),
        ("MOBILE_TOKEN_CLOUD_PASSWORD", "that user's password"),
    ]

    private var ask: Command {
        let openers = self.openers
        return Command(
            "ask",
            summary: "Ask people for an approval, and run a command once if they approve.",
            discussion: """
                The approval covers the words of the command, the path of the folder in which it runs, and each --bind: NAME=file:PATH,
                NAME=env:VARIABLE or NAME=stdin:. In the words, {NAME} becomes the path of a copy in memory, which nobody can change. A
                command whose standard input is bound gets it again. A bound file that the command names by its path is digested again
                before the start, but can still change before the command reads it; {NAME} rules that out. Nothing else is approved: not
                the program itself, the environment, or standard input and files that are not bound.

                Programs such as sudo close what they inherit and replace the environment: under them {NAME} leads to nothing. Bind
                standard input instead, or call 'ask' as the other user.

                The command does not get the credentials of the server. Its exit status becomes that of 'ask'. If it is 80 to 87,
                --report tells whether it is the command's. Without a command, 0 means approved and used up.
                SIGINT or SIGTERM withdraws the question, unless --keep is given; once the command runs, it gets the signal.
                """,
            operands: [
                .init("COMMAND", "after --: the program, and its words", isOptional: true, takesRest: true)
            ],
            options: self.options(
                AskRequest.options + [
                    .init("bind", "NAME=SOURCE", "a value that is approved along with the command", isRepeatable: true),
                    CloudAccess.option,
                    .init("report", "FILE", "write a JSON document that says for certain whether the command ran"),
                ],
                .language,
                .timeout
            )
        ) { invocation in try await AskRun.run(invocation, openers) }
    }

    private static let question = Command.Operand("ID", "the name of the question")

    private var show: Command {
        let openers = self.openers
        return Command(
            "ask",
            "show",
            summary: "Show the questions and their outcomes.",
            discussion:
                "Asks no server. An unknown question was interrupted while its command ran: see 'ask settle'.",
            operands: [.init("ID", "the name of a question (default: all)", isOptional: true)],
            options: self.options([
                .init("state", "STATE", "only those in this state, such as open or unknown", isRepeatable: true)
            ])
        ) { invocation in
            try await Self.mappingErrors {
                let states = try invocation.all("state").map { name in
                    guard let state = ApprovalState(rawValue: name) else {
                        let names = ApprovalState.allCases.map(\.rawValue).joined(separator: ", ")
                        throw invocation.misuse("a state is one of: \(names)")
                    }
                    return state
                }
                let desk = try await AskPlace(invocation, openers).deskWithoutServer()
                let tickets = try await desk.tickets(
                    id: invocation.operand(0),
                    in: states.isEmpty ? Set(ApprovalState.allCases) : Set(states)
                )
                if let id = invocation.operand(0), tickets.isEmpty, states.isEmpty { throw Self.notFound(id) }
                Output(isJSON: invocation.has("json")).result(
                    .array(tickets.map(\.document)),
                    text: tickets.isEmpty ? "No questions." : tickets.table
                )
                return .done
            }
        }
    }

    private var settle: Command {
        let openers = self.openers
        return Command(
            "ask",
            "settle",
            summary: "Record the outcome of a command that was interrupted.",
            discussion: """
                A question is unknown when the process that ran its command is gone without a result. Find out whether the command was
                done, and record that. It is not run again: if it was not done, ask anew, under another name.
                """,
            operands: [Self.question],
            options: self.options([
                .init("done", nil, "it was done"),
                .init("not-done", nil, "it was not done"),
                .init("by", "PERSON", "the person who found out"),
            ])
        ) { invocation in
            guard invocation.has("done") != invocation.has("not-done") else {
                throw invocation.misuse("give either --done or --not-done")
            }
            guard let person = invocation["by"] else {
                throw invocation.misuse("--by is missing: the person who found out")
            }
            return try await Self.mappingErrors {
                let desk = try await AskPlace(invocation, openers).deskWithoutServer()
                let id = try invocation.required(0)
                guard try await !desk.tickets(id: id).isEmpty else { throw Self.notFound(id) }
                let outcome: ApprovalTicket.Settlement = invocation.has("done") ? .wasDone : .wasNotDone
                try await desk.settle(id: id, as: outcome, by: person)
                Output(isJSON: invocation.has("json")).outcome(
                    ["id": .string(id), "outcome": .string(outcome.rawValue), "by": .string(person)],
                    text: "Settled: \(outcome == .wasDone ? "it was done" : "it was not done")."
                )
                return .done
            }
        }
    }

    private var withdraw: Command {
        let openers = self.openers
        return Command(
            "ask",
            "withdraw",
            summary: "Withdraw a question that nobody has acted on.",
            operands: [Self.question],
            options: self.options([CloudAccess.option], .timeout)
        ) { invocation in
            try await Self.mappingErrors {
                let place = try AskPlace(invocation, openers)
                let cloud = try CloudAccess(invocation, place.settings)
                    .client(place.settings, timeout: try invocation.seconds("timeout"))
                let desk = try await ApprovalDesk(
                    audience: place.settings.audience,
                    cloud: cloud,
                    ledger: place.ledger
                )
                let id = try invocation.required(0)
                guard let ticket = try await desk.tickets(id: id).first else { throw Self.notFound(id) }
                try await ticket.withdraw()
                let state = try await desk.tickets(id: id).first?.state ?? ticket.state
                Output(isJSON: invocation.has("json")).outcome(
                    ["id": .string(id), "state": .string(state.rawValue)],
                    text: "The question is \(state.rawValue)."
                )
                return .done
            }
        }
    }

    private var adopt: Command {
        let openers = self.openers
        return Command(
            "ask",
            "adopt-ledger",
            summary: "Accept a ledger that was restored, copied or moved.",
            discussion: """
                First end everything that uses it. Questions that were not final are unknown afterwards. Lost questions can be asked and
                acted on again.
                """,
            options: self.options([])
        ) { invocation in
            try await Self.mappingErrors {
                let place = try AskPlace(invocation, openers)
                try await place.ledger.adopt(audience: place.settings.audience)
                let unknown = try await place.deskWithoutServer().tickets(in: [.unknown]).map(\.id)
                Output(isJSON: invocation.has("json")).outcome(
                    ["unknown": .array(unknown.map { .string($0) })],
                    text: "Adopted. Questions to settle: \(unknown.count)."
                )
                return .done
            }
        }
    }

    private static func notFound(_ id: String) -> AskFailure {
        AskFailure("notFound", "the ledger has no question '\(id)'", .notFound)
    }

    private static func mappingErrors(_ body: () async throws -> ExitCode) async throws -> ExitCode {
        do { return try await body() } catch { throw AskFailure.mapped(error) }
    }
}
