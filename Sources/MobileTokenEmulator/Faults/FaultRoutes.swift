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
        Route(.control("DELETE", "/faults", "Removes the fault rules.", gives: FaultRules.form)) { control, _ in
            await control.core.setFaults([])
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
