import EmulatorBackend
import EmulatorMessages
import ExactJSON

extension ControlAPI {
    static let deviceRoutes: [Route] = [
        Route(
            .control(
                "GET",
                "/devices",
                "Lists the virtual devices.",
                takes: Call.query(PageBounds.fields),
                gives: SummaryPage<Emulator.VirtualDevice>.form("VirtualDevices")
            )
        ) { control, bounds in SummaryPage(await control.core.virtualDevices, bounds) { $0 } },
        Route(
            .control(
                "POST",
                "/devices",
                "Makes a virtual device: it activates and decides by its rule, without any client.",
                takes: Call.body(Emulator.NewDevice.form),
                gives: Emulator.VirtualDevice.form,
                refuses: [404, 409, 507]
            )
        ) { control, device in try await control.core.makeDevice(device) },
        Route(
            .control(
                "GET",
                "/devices/{id}",
                "Shows a virtual device.",
                takes: Call.segment("id"),
                gives: Emulator.VirtualDevice.form
            )
        ) { control, id in try await control.core.device(id) },
        Route(
            .control(
                "DELETE",
                "/devices/{id}",
                "Removes a virtual device, and its activation.",
                takes: Call.segment("id"),
                gives: Form.done
            )
        ) { control, id in try await control.core.removeDevice(id) },
        Route(
            .control(
                "PUT",
                "/devices/{id}/rule",
                "Gives a virtual device another rule, also for the operations that wait.",
                takes: Call.segment("id"),
                Call.body(Emulator.DeviceRule.form),
                gives: Emulator.VirtualDevice.form
            )
        ) { control, input in
            let (id, rule) = input
            try await control.core.setRule(rule, ofDevice: id)
            return try await control.core.device(id)
        },
        Route(
            .control(
                "POST",
                "/devices/{id}/decisions",
                "Lets a virtual device decide an operation now, whatever its rule says; answers when that is done.",
                takes: Call.segment("id"),
                Call.body(Emulator.DecisionRequest.form),
                gives: Emulator.VirtualDevice.form,
                refuses: [409]
            )
        ) { control, input in
            let (id, decision) = input
            return try await control.core.decide(decision, by: id)
        },
    ]
}
