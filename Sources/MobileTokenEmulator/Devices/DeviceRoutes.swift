import APIDescriptions
import EmulatorBackend
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
                named: "decideByDevice",
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
        Route(
            .control(
                "POST",
                "/devices/{id}/claims",
                named: "claimByDevice",
                "Lets a virtual device take an operation that was made for no user; its rule decides it then.",
                takes: Call.segment("id"),
                Call.body(Emulator.OperationClaim.form),
                gives: Emulator.VirtualDevice.form,
                refuses: [409]
            )
        ) { control, input in
            let (id, claim) = input
            return try await control.core.claim(claim.operationID, by: id)
        },
        Route(
            .control(
                "POST",
                "/devices/{id}/offline-codes",
                named: "approveOfflineByDevice",
                "Lets a virtual device approve an operation without a network.",
                takes: Call.segment("id"),
                Call.body(Emulator.ScannedOperation.form),
                gives: Emulator.CarriedCode.form,
                refuses: [409]
            )
        ) { control, input in
            let (id, operation) = input
            return Emulator.CarriedCode(code: try await control.core.offlineCode(for: operation.content, by: id))
        },
        Route(
            .control(
                "GET",
                "/devices/{id}/inbox",
                "Shows the inbox as a virtual device is shown it.",
                takes: Call.segment("id"),
                gives: Emulator.DeviceInbox.form,
                refuses: [409]
            )
        ) { control, id in try await control.core.inbox(ofDevice: id) },
        Route(
            .control(
                "POST",
                "/devices/{id}/inbox/{message}/read",
                named: "readMessageByDevice",
                "Lets a virtual device show a message, and mark it as read.",
                takes: Call.segment("id"),
                Call.segment("message"),
                gives: Emulator.DeviceMessage.form,
                refuses: [409]
            )
        ) { control, input in
            let (id, message) = input
            return try await control.core.readMessage(message, by: id)
        },
    ]
}
