import APIDescriptions
import EmulatorBackend

/// All fault rules in order, with the requests matched by each.
struct FaultRules: Described {
    var rules: [FaultRule]
    var counts: [FaultRule.Count]

    static let fields = FieldTable(
        "FaultRules",
        FaultRules.init(rules:counts:),
        .required("rules", \.rules, .list(of: .described)),
        .preset(
            "counts",
            \.counts,
            .list(of: .described),
            or: [],
            "In the order of the rules. Ignored where rules are set, so that what was told can be sent back: counts start anew."
        )
    )
}

extension ControlAPI {
    static let faultRoutes = [
        Route("GET /faults", "Lists the fault rules.", gives: FaultRules.form) { control in
            await control.faults
        },
        Route(
            "PUT /faults",
            "Replaces the fault rules.",
            takes: Call.body(FaultRules.form),
            gives: FaultRules.form,
            refuses: [507]
        ) { control, faults in
            guard faults.rules.count <= control.capacity.faultRules else { throw control.capacity.tooManyFaultRules }
            await control.core.setFaults(faults.rules)
            return await control.faults
        },
        Route(
            "POST /faults",
            "Adds a fault rule.",
            takes: Call.body(FaultRule.form),
            gives: FaultRules.form,
            refuses: [507]
        ) { control, rule in
            try await control.add([rule])
        },
        Route(
            "POST /faults/real",
            named: "addRealFaults",
            "Adds the faults that real servers and what is before them have, each now and then.",
            gives: FaultRules.form,
            refuses: [507]
        ) { control in
            try await control.add(FaultRule.real)
        },
        Route(
            "POST /faults/release",
            named: "releaseFaults",
            "Carries out what fault rules hold or deliver late, in its order; returns when that is done.",
            takes: Call.query(Self.faultName),
            gives: FaultRules.form,
            refuses: [404]
        ) { control, name in
            try await control.require(name)
            await control.core.releaseFaults(named: name)
            return await control.faults
        },
        Route(
            "DELETE /faults",
            "Removes the fault rules, or those of a name; what they hold or deliver late is carried out.",
            takes: Call.query(Self.faultName),
            gives: FaultRules.form,
            refuses: [404]
        ) { control, name in
            try await control.require(name)
            if let name {
                await control.core.removeFaults(named: name)
            } else {
                await control.core.setFaults([])
            }
            return await control.faults
        },
    ]

    /// The fault rules with a name, as in the journal; all rules without one.
    private static let faultName = FieldTable<String?>(
        "NamedFaults",
        .optional("name", \.self, .word, "Means those of this name only; the counts of the others go on.")
    )

    private var faults: FaultRules {
        get async { FaultRules(rules: await self.core.faultRules, counts: await self.core.faultCounts) }
    }

    private func add(_ rules: [FaultRule]) async throws -> FaultRules {
        guard await self.core.addFaults(rules, upTo: self.capacity.faultRules) else {
            throw self.capacity.tooManyFaultRules
        }
        return await self.faults
    }

    private func require(_ name: String?) async throws {
        guard let name, await !self.faults.counts.contains(where: { $0.name == name }) else { return }
        throw Refusal(404, "ERROR_NOT_FOUND", "There is no such fault rule")
    }
}

extension Emulator.Capacity {
    var tooManyFaultRules: Refusal { .capacityExceeded("There is room for \(self.faultRules) fault rules") }
}
