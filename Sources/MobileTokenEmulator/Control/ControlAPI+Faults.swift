import EmulatorBackend
import EmulatorMessages
import ExactJSON

/// All fault rules, in their order.
struct FaultRules: Described {
    var rules: [FaultRule]

    static let fields = FieldTable(
        "FaultRules",
        FaultRules.init(rules:),
        .required("rules", \.rules, .list(of: .described))
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
            guard faults.rules.count <= control.capacity.faultRules else { throw control.tooManyFaultRules }
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
            guard isAdded else { throw control.tooManyFaultRules }
            return await control.faults
        },
        Route(.control("DELETE", "/faults", "Removes the fault rules.", gives: FaultRules.form)) { control, _ in
            await control.core.setFaults([])
            return await control.faults
        },
    ]

    private var faults: FaultRules { get async { FaultRules(rules: await self.core.faultRules) } }

    private var tooManyFaultRules: Refusal {
        .capacityExceeded("There is room for \(self.capacity.faultRules) fault rules")
    }
}
