import APIDescriptions
import EmulatorBackend
import ExactJSON

/// All fault rules, in their order, and the requests that each has met.
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

/// The fault rules of a name, as the journal has it; all without one.
private struct NamedFaults: Described {
    var name: String?

    static let fields = FieldTable(
        "NamedFaults",
        Self.init(name:),
        .optional("name", \.name, .word, "Removes those of this name only; the counts of the others go on.")
    )
}

extension ControlAPI {
    static let faultRoutes = [
        Route(.control("GET", "/faults", "Lists the fault rules.", gives: FaultRules.form)) { control, _ in
            await control.faults
        },
        Route(
            .control(
                "PUT",
                "/faults",
                "Replaces the fault rules.",
                takes: Call.body(FaultRules.form),
                gives: FaultRules.form,
                refuses: [507]
            )
        ) { control, faults in
            guard faults.rules.count <= control.capacity.faultRules else { throw control.capacity.tooManyFaultRules }
            await control.core.setFaults(faults.rules)
            return await control.faults
        },
        Route(
            .control(
                "POST",
                "/faults",
                "Adds a fault rule.",
                takes: Call.body(FaultRule.form),
                gives: FaultRules.form,
                refuses: [507]
            )
        ) { control, rule in
            let isAdded = await control.core.addFault(rule, unlessThereAre: control.capacity.faultRules)
            guard isAdded else { throw control.capacity.tooManyFaultRules }
            return await control.faults
        },
        Route(
            .control(
                "DELETE",
                "/faults",
                "Removes the fault rules, or those of a name.",
                takes: Call.query(NamedFaults.fields),
                gives: FaultRules.form,
                refuses: [404]
            )
        ) { control, named in
            if let name = named.name {
                guard await control.faults.counts.contains(where: { $0.name == name }) else {
                    throw Refusal(404, "ERROR_NOT_FOUND", "There is no such fault rule")
                }
                await control.core.removeFaults(named: name)
            } else {
                await control.core.setFaults([])
            }
            return await control.faults
        },
    ]

    private var faults: FaultRules {
        get async {
            let faults = await self.core.faults
            return FaultRules(rules: faults.rules, counts: faults.counts)
        }
    }
}

extension Emulator.Capacity {
    var tooManyFaultRules: Refusal { .capacityExceeded("There is room for \(self.faultRules) fault rules") }
}
