import EmulatorBackend
import EmulatorMessages

extension ControlAPI {
    static let deviceRoutes: [Route] = [
        Route("GET", "/devices", "Lists the virtual devices.", asks: .page, gives: .json(.virtualDevices)) {
            control,
            request,
            _ in
            .encoding(SummaryPage(await control.core.virtualDevices, try .init(request)) { $0 })
        },
        Route(
            "POST",
            "/devices",
            "Makes a virtual device: it activates and decides by its rule, without any client.",
            takes: .required(.newDevice),
            gives: .json(.virtualDevice),
            refuses: [404, 409, 507]
        ) { control, request, _ in
            .encoding(try await control.core.makeDevice(try request.decoded(NewDeviceBody.self).newDevice()))
        },
        Route("GET", "/devices/{id}", "Shows a virtual device.", gives: .json(.virtualDevice)) {
            control,
            _,
            arguments in
            .encoding(try await control.core.device(arguments[0]))
        },
        Route("DELETE", "/devices/{id}", "Removes a virtual device, and its activation.") { control, _, arguments in
            try await control.core.removeDevice(arguments[0])
            return .ok
        },
        Route(
            "PUT",
            "/devices/{id}/rule",
            "Gives a virtual device another rule, also for the operations that wait.",
            takes: .required(.deviceRule),
            gives: .json(.virtualDevice)
        ) { control, request, arguments in
            try await control.core.setRule(request.decoded(), ofDevice: arguments[0])
            return .encoding(try await control.core.device(arguments[0]))
        },
        Route(
            "POST",
            "/devices/{id}/decisions",
            "Lets a virtual device decide an operation now, whatever its rule says; answers when that is done.",
            takes: .required(.deviceDecision),
            gives: .json(.virtualDevice),
            refuses: [409]
        ) { control, request, arguments in
            let decision = try request.decoded(DecisionBody.self).request
            return .encoding(try await control.core.decide(decision, by: arguments[0]))
        },
    ]

    struct NewDeviceBody: Decodable {
        var userId: String?
        var activationCode: String?
        var name: String?
        var version: String?
        var rule: Emulator.DeviceRule?

        func newDevice() throws(Refusal) -> Emulator.NewDevice {
            let origin: Emulator.NewDevice.Origin =
                switch (self.userId, self.activationCode) {
                case (let userID?, nil): .user(userID)
                case (nil, let code?): .activationCode(code)
                default: throw .invalidRequest("Either 'userId' or 'activationCode' must be given")
                }
            var device = Emulator.NewDevice(origin: origin, name: self.name)
            if let rule = self.rule { device.rule = rule }
            // The schema has let only known names pass.
            if let version = self.version.flatMap(Emulator.NewDevice.Version.init) { device.version = version }
            return device
        }
    }

    private struct DecisionBody: Decodable {
        var operationId: String
        var decision: Emulator.DeviceDecision
        var reason: String?
        var proximityCode: String?

        var request: Emulator.DecisionRequest {
            Emulator.DecisionRequest(
                operationID: self.operationId,
                decision: self.decision,
                reason: self.reason ?? "UNKNOWN",
                proximityCode: self.proximityCode
            )
        }
    }
}

extension Schema {
    static let newDevice = Self.object(
        "NewDevice",
        [
            .optional("userId", .word, "Registers, activates and commits it for this user."),
            .optional("activationCode", .word, "Activates it with this code; who registered it commits it."),
            .optional("name", .word, "What it calls itself, also in the journal; 255 bytes at most."),
            .optional("version", .oneOf(Emulator.NewDevice.Version.self), "3.3 by default."),
            .optional("rule", .deviceRule, "How it decides; by default it approves at once."),
        ]
    )

    fileprivate static let deviceRule = Self.object(
        "DeviceRule",
        [
            .optional("decision", .oneOf(Emulator.DeviceDecision.Base.self), "approve by default."),
            .optional(
                "after",
                .number(Emulator.DeviceRule.delays),
                "Seconds after it was first shown the operation, by the server's clock; 0 by default."
            ),
            .optional("reason", .word, "That of a rejection; UNKNOWN by default."),
        ]
    )

    fileprivate static let deviceDecision = Self.object(
        "DeviceDecision",
        [
            .required("operationId", .word),
            .required("decision", .oneOf(["approve", "reject", "wrongPassword"])),
            .optional("reason", .word, "That of a rejection; UNKNOWN by default."),
            .optional("proximityCode", .word, "The one-time code that the user has scanned."),
        ]
    )

    private static let deviceTask = Self.object(
        "DeviceTask",
        [
            .required("operationID", .string), .required("decision", .oneOf(Emulator.DeviceDecision.Base.self)),
            .required("isByHand", .boolean), .required("state", .oneOf(DeviceRoster.Task.State.self)),
            .required("due", .date, "When it decides, or has decided."),
            .optional("failure", .string, "What the server said, or that there was no response."),
        ]
    )

    static let virtualDevice = Self.object(
        "VirtualDevice",
        [
            .required("id", .string, "That of its activation."), .required("name", .string),
            .required("version", .string), .optional("userID", .string),
            .optional("status", .oneOf(ServerActivation.Status.self)), .required("rule", .deviceRule),
            .required("created", .date),
            .optional("failure", .string, "Why it could not look what there is to decide."),
            .required("tasks", .list(of: .deviceTask), "What it is to decide, and has decided; oldest first."),
        ]
    )

    fileprivate static let virtualDevices = Self.object(
        "VirtualDevices",
        [.required("items", .list(of: .virtualDevice)), .required("total", .count)]
    )
}
