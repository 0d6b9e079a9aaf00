/// Everything the backend answers, by path and method.
enum Endpoint: Hashable {
    // The standard endpoints of PowerAuth.
    case serverStatus, createTemporaryKey
    case createActivation, activationStatus, removeActivation
    case createToken, removeToken
    case unlockVault, validateSignature, userInfo, confirmRecovery
    // The Mobile Token API.
    case listOperations, operationDetail, claimOperation, operationHistory, authorizeOperation, rejectOperation
    case registerDevice, registerSignedDevice
    case countMessages, listMessages, messageDetail, markMessageRead, markAllMessagesRead
    // The control API.
    case createRegistration, listRegistrations, registration, changeRegistration, removeRegistration, commitRegistration
    case registrationFlags, addRegistrationFlags, removeRegistrationFlags
    case createOperation, listAllOperations, operation, cancelOperation, offlineQRCode, verifyOfflineCode
    case createMessage
    case createApplication, listApplications, application

    /// Whether it belongs to the control API, which asks for a user and a password.
    var isControl: Bool {
        switch self {
        case .createRegistration, .listRegistrations, .registration, .changeRegistration, .removeRegistration,
            .commitRegistration, .registrationFlags, .addRegistrationFlags, .removeRegistrationFlags, .createOperation,
            .listAllOperations, .operation, .cancelOperation, .offlineQRCode, .verifyOfflineCode, .createMessage,
            .createApplication, .listApplications, .application:
            true
        default: false
        }
    }

    /// What a path leads to.
    enum Match {
        case endpoint(Endpoint, arguments: [String])
        case wrongMethod(allowed: [String])
        case none
    }

    static func match(method: String, path: String) -> Match {
        let segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        guard let (methods, arguments) = Self.methods(at: Array(segments), path) else { return .none }
        guard let endpoint = methods[method] else { return .wrongMethod(allowed: methods.keys.sorted()) }
        return .endpoint(endpoint, arguments: arguments)
    }

    private static func methods(
        at segments: [Substring],
        _ path: String
    ) -> (methods: [String: Endpoint], arguments: [String])? {
        if let methods = self.fixedPaths[path] { return (methods, []) }
        guard segments.count > 2, segments.count <= 6 else { return nil }
        // `/v2/registrations/{id}/commit` is looked up as `v2/registrations/commit`.
        let id = String(segments[2])
        let key = (segments[..<2] + segments[3...]).joined(separator: "/")
        guard !id.isEmpty, let methods = self.pathsWithIdentifier[key] else { return nil }
        return (methods, [id])
    }

    private static let fixedPaths: [String: [String: Endpoint]] = [
        "/pa/v3/status": ["POST": .serverStatus],
        "/pa/v3/keystore/create": ["POST": .createTemporaryKey],
        "/pa/v3/activation/create": ["POST": .createActivation],
        "/pa/v3/activation/status": ["POST": .activationStatus],
        "/pa/v3/activation/remove": ["POST": .removeActivation],
        "/pa/v3/token/create": ["POST": .createToken],
        "/pa/v3/token/remove": ["POST": .removeToken],
        "/pa/v3/vault/unlock": ["POST": .unlockVault],
        "/pa/v3/signature/validate": [
            "GET": .validateSignature, "POST": .validateSignature, "PUT": .validateSignature,
            "DELETE": .validateSignature,
        ],
        "/pa/v3/user/info": ["POST": .userInfo],
        "/pa/v3/recovery/confirm": ["POST": .confirmRecovery],
        "/api/auth/token/app/operation/list": ["POST": .listOperations],
        "/api/auth/token/app/operation/detail": ["POST": .operationDetail],
        "/api/auth/token/app/operation/detail/claim": ["POST": .claimOperation],
        "/api/auth/token/app/operation/history": ["POST": .operationHistory],
        "/api/auth/token/app/operation/authorize": ["POST": .authorizeOperation],
        "/api/auth/token/app/operation/cancel": ["POST": .rejectOperation],
        "/api/push/device/register/token": ["POST": .registerDevice],
        "/api/push/device/register": ["POST": .registerSignedDevice],
        "/api/inbox/count": ["POST": .countMessages],
        "/api/inbox/message/list": ["POST": .listMessages],
        "/api/inbox/message/detail": ["POST": .messageDetail],
        "/api/inbox/message/read": ["POST": .markMessageRead],
        "/api/inbox/message/read-all": ["POST": .markAllMessagesRead],
        "/v2/registrations": ["GET": .listRegistrations, "POST": .createRegistration],
        "/v2/operations": ["GET": .listAllOperations, "POST": .createOperation],
        "/v2/inbox/messages": ["POST": .createMessage],
        "/v2/applications": ["GET": .listApplications, "POST": .createApplication],
    ]

    private static let pathsWithIdentifier: [String: [String: Endpoint]] = [
        "v2/registrations": ["GET": .registration, "PUT": .changeRegistration, "DELETE": .removeRegistration],
        "v2/registrations/commit": ["POST": .commitRegistration],
        "v2/registrations/flags": [
            "GET": .registrationFlags, "POST": .addRegistrationFlags, "DELETE": .removeRegistrationFlags,
        ],
        "v2/operations": ["GET": .operation, "DELETE": .cancelOperation],
        "v2/operations/offline/qr": ["GET": .offlineQRCode],
        "v2/operations/offline/otp": ["POST": .verifyOfflineCode],
        "admin/applications": ["GET": .application],
    ]
}
