import APIDescriptions

extension ControlAPI {
    static let deviceRoutes: [Route] = [
        Route(
            "GET /devices",
            "Lists the virtual devices.",
            takes: Call.query(PageBounds.fields),
            gives: SummaryPage<Emulator.VirtualDevice>.form("VirtualDevices")
        ) { control, bounds in SummaryPage(await control.core.virtualDevices, bounds) { $0 } },
        Route(
            "POST /devices",
            "Makes a virtual device, which activates and decides by its rule; answers when it has looked for operations.",
            takes: Call.body(Emulator.NewDevice.form),
            gives: Emulator.VirtualDevice.form,
            refuses: [404, 409, 507]
        ) { control, device in try await control.core.makeReadyDevice(device) },
        Route(
            "GET /devices/{id}",
            "Shows a virtual device.",
            takes: Call.segment("id"),
            gives: Emulator.VirtualDevice.form
        ) { control, id in try await control.core.device(id) },
        Route(
            "DELETE /devices/{id}",
            "Removes a virtual device, and its activation.",
            takes: Call.segment("id"),
            gives: Form.done
        ) { control, id in try await control.core.removeDevice(id) },
        Route(
            "PUT /devices/{id}/rule",
            "Gives a virtual device another rule, also for the operations that wait.",
            takes: Call.segment("id"),
            Call.body(Emulator.DeviceRule.form),
            gives: Emulator.VirtualDevice.form
        ) { control, id, rule in
            try await control.core.setRule(rule, ofDevice: id)
            return try await control.core.device(id)
        },
        Route(
            "POST /devices/{id}/decisions",
            named: "decideByDevice",
            "Lets a virtual device decide an operation now, whatever its rule says; refuses what the server refuses.",
            takes: Call.segment("id"),
            Call.body(Emulator.DecisionRequest.form),
            gives: Emulator.VirtualDevice.form,
            refuses: [409]
        ) { control, id, decision in
            try await control.core.decide(decision, by: id)
        },
        Route(
            "POST /devices/{id}/claims",
            named: "claimByDevice",
            "Lets a virtual device take an operation that was made for no user; its rule decides it then.",
            takes: Call.segment("id"),
            Call.body(Self.operationClaim.form),
            gives: Emulator.VirtualDevice.form,
            refuses: [409]
        ) { control, id, operationID in
            try await control.core.claim(operationID, by: id)
        },
        Route(
            "POST /devices/{id}/offline-codes",
            named: "approveOfflineByDevice",
            "Lets a virtual device approve an operation without a network.",
            takes: Call.segment("id"),
            Call.body(Self.scannedOperation.form),
            gives: Self.carriedCode.form,
            refuses: [409]
        ) { control, id, content in
            try await control.core.letDevice(id) { try await $0.offlineCode(for: content) }
        },
        Route(
            "GET /devices/{id}/inbox",
            "Shows the inbox as a virtual device is shown it.",
            takes: Call.segment("id"),
            gives: Emulator.DeviceInbox.form,
            refuses: [409]
        ) { control, id in try await control.core.letDevice(id) { try await $0.inbox() } },
        Route(
            "POST /devices/{id}/inbox/{message}/read",
            named: "readMessageByDevice",
            "Lets a virtual device show a message, and mark it as read.",
            takes: Call.segment("id"),
            Call.segment("message"),
            gives: Emulator.DeviceMessage.form,
            refuses: [409]
        ) { control, id, message in
            try await control.core.letDevice(id) { try await $0.readMessage(message) }
        },
    ]

    private static let operationClaim = FieldTable<String>(
        "OperationClaim",
        .required("operationId", \.self, .word, example: "0f038bac-6c94-45eb-b3a9-f92e809e8ea4")
    )

    private static let scannedOperation = FieldTable<String>(
        "ScannedOperation",
        .required(
            "operationQrCodeData",
            \.self,
            .word,
            "The content of the QR code, as GET /v2/operations/{id}/offline/qr gives it."
        )
    )

    private static let carriedCode = FieldTable<String>(
        "CarriedCode",
        .required(
            "otp",
            \.self,
            .string,
            "The code that the user types in: POST /v2/operations/{id}/offline/otp verifies it."
        )
    )
}
