internal import EmulatorMessages

extension Backend {
    /// Every endpoint of the backend: dispatch, access and capacity follow from this table.
    static let routes = RouteTable(Self.powerAuthRoutes + Self.mobileTokenRoutes + Self.cloudRoutes)

    /// The standard endpoints of PowerAuth.
    private static let powerAuthRoutes: [Route] =
        [
            .device("POST", "/pa/v3/status", "Tells the server's time and name.") { backend, context in
                try backend.serverStatus(context)
            },
            .device("POST", "/pa/v3/keystore/create", "Creates a temporary key.") { try $0.createTemporaryKey(&$1) },
            .device("POST", "/pa/v3/activation/create", adds: .contents, "Creates an activation.") {
                try $0.createActivation(&$1)
            },
            .device("POST", "/pa/v3/activation/status", "Tells an activation's status.") {
                try $0.activationStatus(&$1)
            },
            .device("POST", "/pa/v3/activation/remove", "Removes an activation.") { try $0.removeActivation(&$1) },
            .device("POST", "/pa/v3/token/create", adds: .token, "Creates a token.") { try $0.createToken(&$1) },
            .device("POST", "/pa/v3/token/remove", "Removes a token.") { try $0.removeToken(&$1) },
            .device("POST", "/pa/v3/vault/unlock", "Unlocks the vault.") { try $0.unlockVault(&$1) },
            .device("POST", "/pa/v3/user/info", "Tells what is known of the user.") { try $0.userInfo(&$1) },
            .device("POST", "/pa/v3/recovery/confirm", "Confirms a recovery code.") { try $0.confirmRecovery(&$1) },
        ]
        + ["DELETE", "GET", "POST", "PUT"].map { method in
            Route.device(method, "/pa/v3/signature/validate", "Verifies a signature.") { try $0.validateSignature(&$1) }
        }

    /// The Mobile Token API, and what belongs to it.
    private static let mobileTokenRoutes: [Route] = [
        .device("POST", "/api/auth/token/app/operation/list", "Lists the operations that wait for a decision.") {
            try $0.listOperations(&$1)
        },
        .device("POST", "/api/auth/token/app/operation/detail", "Shows an operation.") { try $0.operationDetail(&$1) },
        .device("POST", "/api/auth/token/app/operation/detail/claim", "Makes an operation the user's own.") {
            try $0.claimOperation(&$1)
        },
        .device("POST", "/api/auth/token/app/operation/history", "Lists the user's operations.") {
            try $0.operationHistory(&$1)
        },
        .device("POST", "/api/auth/token/app/operation/authorize", adds: .contents, "Approves an operation.") {
            try $0.authorizeOperation(&$1)
        },
        .device("POST", "/api/auth/token/app/operation/cancel", adds: .contents, "Rejects an operation.") {
            try $0.rejectOperation(&$1)
        },
        .device("POST", "/api/push/device/register/token", "Registers for push messages, with a token.") {
            try $0.registerDevice(&$1)
        },
        .device("POST", "/api/push/device/register", "Registers for push messages, with a signature.") {
            try $0.registerSignedDevice(&$1)
        },
        .device("POST", "/api/inbox/count", "Counts unread messages.") { try $0.countMessages(&$1) },
        .device("POST", "/api/inbox/message/list", "Lists messages.") { try $0.listMessages(&$1) },
        .device("POST", "/api/inbox/message/detail", "Shows a message.") { try $0.messageDetail(&$1) },
        .device("POST", "/api/inbox/message/read", "Marks a message as read.") { try $0.markMessageRead(&$1) },
        .device("POST", "/api/inbox/message/read-all", "Marks all messages as read.") {
            try $0.markAllMessagesRead(&$1)
        },
    ]

    /// The cloud API, which a bank's backend calls.
    private static let cloudRoutes: [Route] = [
        .cloud("GET", "/v2/registrations", "Lists registrations.") { try $0.listRegistrations(&$1) },
        .cloud("POST", "/v2/registrations", adds: .registration, "Registers a device for a user.") {
            try $0.createRegistration(&$1)
        },
        .cloud("DELETE", "/v2/registrations/{id}", "Removes a registration.") { try $0.removeRegistration(&$1) },
        .cloud("GET", "/v2/registrations/{id}", "Shows a registration.") { try $0.registration(&$1) },
        .cloud("PUT", "/v2/registrations/{id}", "Blocks or unblocks a registration.") {
            try $0.changeRegistration(&$1)
        },
        .cloud("POST", "/v2/registrations/{id}/commit", adds: .contents, "Lets a registration become active.") {
            try $0.commitRegistration(&$1)
        },
        .cloud("DELETE", "/v2/registrations/{id}/flags", "Removes flags.") { try $0.removeRegistrationFlags(&$1) },
        .cloud("GET", "/v2/registrations/{id}/flags", "Lists flags.") { try $0.registrationFlags(&$1) },
        .cloud("POST", "/v2/registrations/{id}/flags", "Adds flags.") { try $0.addRegistrationFlags(&$1) },
        .cloud("GET", "/v2/operations", "Lists operations.") { try $0.listAllOperations(&$1) },
        .cloud("POST", "/v2/operations", adds: .operation, "Creates an operation.") { try $0.createOperation(&$1) },
        .cloud("DELETE", "/v2/operations/{id}", adds: .contents, "Cancels an operation.") {
            try $0.cancelOperation(&$1)
        },
        .cloud("GET", "/v2/operations/{id}", "Shows an operation.") { try $0.operation(&$1) },
        .cloud("GET", "/v2/operations/{id}/offline/qr", "Makes the QR code of an offline approval.") {
            try $0.offlineQRCode(&$1)
        },
        .cloud("POST", "/v2/operations/{id}/offline/otp", "Verifies the code of an offline approval.") {
            try $0.verifyOfflineCode(&$1)
        },
        .cloud("POST", "/v2/inbox/messages", adds: .message, "Puts a message into a user's inbox.") {
            try $0.createMessage(&$1)
        },
        .cloud("GET", "/v2/applications", "Lists applications.") { backend, context in
            backend.listApplications(context)
        },
        .cloud("POST", "/v2/applications", adds: .application, "Creates an application.") {
            try $0.createApplication(&$1)
        },
        .cloud("GET", "/admin/applications/{id}", "Shows an application.") { backend, context in
            try backend.application(context)
        },
    ]
}
