import CommandLineSupport
import ExactJSON
import MobileToken
import MobileTokenPostgres

/// Commands for the nodes' shared database.
enum StoreCommands {
    static let all = [check, copy, recover, reseal, prune, receipts, status, migrate]

    static let check = Command(
        "store",
        "check",
        summary: "Check that every activation opens, and that no counter is behind its mark.",
        discussion: "The exit code is 1 when an activation does not open.",
        options: StoreSession.options
    ) { invocation in
        let checks = try await StoreSession.run(invocation) { try await $0.check() }
        Output(isJSON: invocation.has("json")).result(.array(checks.map(\.document)), text: checks.table)
        return checks.contains { $0.failure != nil } ? .refused : .done
    }

    static let copy = Command(
        "store",
        "copy",
        summary: "Move activations out of an SQLite store into the database.",
        discussion: """
            Stop the processes that use the file before. Receipts stay in the file: export them before. An interrupted move is
            repeated by the same command.
            """,
        operands: [.init("FILE", "the SQLite store")],
        options: StoreSession.options + [
            .sealingKey("from-sealing-key", default: "beside the SQLite store", note: "; it is that store's")
        ]
    ) { invocation in
        let key = try invocation.sealingKey("from-sealing-key")
        let source = ActivationStore.sqlite(path: try invocation.required(0), sealingKey: key)
        let ids = try await StoreSession.run(invocation) { store in
            let ids = try await source.activationIDs()
            try await store.prove()
            for id in ids { try await store.move(id, from: source) }
            return ids
        }
        await source.close()
        Output(isJSON: invocation.has("json")).outcome(
            ["moved": .array(ids.map { .string($0) })],
            text: "Moved \(ids.count) activations."
        )
        return .done
    }

    static let reseal = Command(
        "store",
        "reseal",
        summary: "Seal everything with another key, while nodes are at work, and forget keys that nothing needs.",
        discussion: """
            The new key is --sealing-key, the one before it --earlier-sealing-key. Give every node a ring with both of them
            before. When the command is interrupted, repeat it. Afterwards nothing needs the earlier one.
            """,
        options: StoreSession.options
    ) { invocation in
        let count = try await StoreSession.run(invocation) { store in
            try await store.reseal()
            return try await store.retireUnusedKeys()
        }
        Output(isJSON: invocation.has("json")).outcome(
            ["retiredKeys": .number(JSONNumber(count))],
            text: "Everything is sealed with the new key; earlier keys that were forgotten: \(count)."
        )
        return .done
    }

    static let status = Command(
        "fleet",
        "status",
        summary: "Show the nodes that are alive, and what each polls and signs with.",
        options: StoreSession.options
    ) { invocation in
        let (nodes, epoch) = try await StoreSession.run(invocation) {
            (try await $0.nodes(), try await $0.databaseLife())
        }
        Output(isJSON: invocation.has("json")).result(.array(nodes.map(\.document)), text: nodes.table)
        if let note = epoch?.note { Output.note("\(CommandLineProgram.name): \(note)") }
        return .done
    }

    static let migrate = Command(
        "store",
        "migrate",
        summary: "Make the tables, or bring them to this version, while nodes are at work.",
        options: StoreSession.options + [
            .init("grant-to", "ROLE", "give this role the rights that a node needs, and no others")
        ]
    ) { invocation in
        try await StoreSession.run(invocation) { try await $0.migrate(grantingTo: invocation["grant-to"]) }
        Output(isJSON: invocation.has("json")).outcome(["migrated": .bool(true)], text: "The tables are up to date.")
        return .done
    }
}

extension ActivationCheck {
    fileprivate var document: JSONValue {
        [
            "activationId": .string(self.activationID),
            "moves": self.moves.map { .number(JSONNumber($0)) } ?? .null,
            "wasPutBack": .bool(self.wasPutBack),
            "failure": .optional(self.failure?.code.description),
        ]
    }
}

extension [ActivationCheck] {
    fileprivate var table: String {
        guard !self.isEmpty else { return "No activations." }
        var table = TextTable(header: "ACTIVATION", "MOVES", "FINDING")
        for check in self {
            let finding = check.failure.map { "\($0)" } ?? (check.wasPutBack ? "was put back" : "good")
            table.add(check.activationID, check.moves.map { "\($0)" } ?? "", finding)
        }
        return table.text
    }
}

extension DatabaseLife {
    /// A line about a database beyond its first epoch; `nil` in that.
    fileprivate var note: String? {
        guard self.number > 1 else { return nil }
        return """
            Life \(self.number) of the database began \(self.age.components.seconds) s ago, because of \(self.reason): \
            all leases of before were taken away, and counters are compared with the server before they are used
            """
    }
}

extension NodeStatus {
    fileprivate var document: JSONValue {
        [
            "number": .number(JSONNumber(self.number)),
            "name": .string(self.name),
            "ageSeconds": .number(JSONNumber(self.age.components.seconds)),
            "secondsLeft": .number(JSONNumber(self.timeLeft.components.seconds)),
            "buckets": .number(JSONNumber(self.bucketCount)),
            "rights": .number(JSONNumber(self.rightCount)),
            "newestFormat": .number(JSONNumber(self.newestFormat.rawValue)),
        ]
    }
}

extension [NodeStatus] {
    fileprivate var table: String {
        guard !self.isEmpty else { return "No node is alive." }
        var table = TextTable(header: "NODE", "NUMBER", "AGE", "LEFT", "BUCKETS", "RIGHTS", "FORMAT")
        for node in self {
            table.add(
                node.name,
                "\(node.number)",
                "\(node.age.components.seconds) s",
                "\(node.timeLeft.components.seconds) s",
                "\(node.bucketCount)",
                "\(node.rightCount)",
                "\(node.newestFormat.rawValue)"
            )
        }
        return table.text
    }
}
