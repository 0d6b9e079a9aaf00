import MobileToken
import MobileTokenNotifications
import PowerAuth
import TestSupport
import Testing

/// A call that changes something, and what must not be believed of it.
struct ForeignCall: Sendable, CustomTestStringConvertible {
    typealias Walk = @Sendable () async throws -> Void

    let testDescription: String
    /// The end of the request's path.
    let path: String
    var version: ProtocolVersion = .v3_3
    var hasBiometry = false
    /// Indicates that the call decides an operation, which leaves a receipt.
    var decides = false
    /// Indicates that the SDK finds out whether it was carried out.
    var isProven = false
    /// Sets up, and returns the call.
    let prepare: @Sendable (ForeignSite) async throws -> Walk
    /// Returns whether all is here as it was before the call.
    var isUnbelieved: @Sendable (ForeignSite) async throws -> Bool = { _ in true }
}

extension ForeignCall {
    private init(_ name: String, _ path: String, _ walk: @escaping @Sendable (ForeignSite) async throws -> Void) {
        self.init(testDescription: name, path: path) { site in { try await walk(site) } }
    }

    private func of(_ version: ProtocolVersion) -> Self {
        altered(self) { $0.version = version }
    }

    private func leaving(_ isUnbelieved: @escaping @Sendable (ForeignSite) async throws -> Bool) -> Self {
        altered(self) { $0.isUnbelieved = isUnbelieved }
    }

    private var withBiometry: Self {
        altered(self) { $0.hasBiometry = true }
    }

    private var proven: Self {
        altered(self) { $0.isProven = true }
    }

    private static let passwordBytes = SecretBytes(utf8: password)

    static let all = Self.decisions + Self.ofActivation + Self.ofTokens + Self.ofFactors + Self.ofServices

    private static let decisions = [
        Self(testDescription: "authorize", path: "/operation/authorize", decides: true, isProven: true) { site in
            let operation = try await site.offer()
            return { try await site.service.authorize(operation, with: .twoFactors) }
        },
        Self(testDescription: "reject", path: "/operation/cancel", decides: true, isProven: true) { site in
            let operation = try await site.offer()
            return { try await site.service.reject(operation) }
        },
        Self(testDescription: "claim", path: "/detail/claim") { site in
            let id = try site.offerToAnybody()
            return { _ = try await site.service.claim(id: id) }
        },
    ]

    static let remove = Self("remove", "/activation/remove") {
        try await $0.activation.remove(authenticatedBy: .twoFactors)
    }

    private static let ofActivation = [
        Self.remove.leaving { try await $0.client.activationIDs() == [$0.activation.activationID] },
        Self.remove.of(.v4_0).leaving { try await $0.client.activationIDs() == [$0.activation.activationID] },
        Self("rename", "/activation/rename") { try await $0.activation.rename(to: "other", with: .twoFactors) },
        Self("create", "/activation/create") {
            _ = try await $0.client.activate(code: $0.makeCode(), password: password)
        }
        .leaving { try await $0.client.activationIDs() == [$0.activation.activationID] },
        Self("upgrade", "/upgrade/start") { try await $0.activation.upgrade(password: Self.passwordBytes) }
            .leaving { $0.activation.version == .v3_3 },
        Self("upgrade confirm", "/upgrade/confirm") { try await $0.activation.upgrade(password: Self.passwordBytes) }
            .proven,
        Self("transfer", "/api/activation/code") {
            _ = try await $0.activation.transferCode(
                applicationID: "mobile-token",
                otp: "1234567890123456",
                with: .twoFactors
            )
        },
    ]

    private static let ofTokens = [
        Self("token create", "/token/create") { try await $0.activation.requestToken("t") }
            .leaving { try await $0.activation.tokenNames().isEmpty },
        Self(testDescription: "token remove", path: "/token/remove") { site in
            try await site.activation.requestToken("t")
            return { try await site.activation.removeToken("t") }
        }
        .leaving { try await $0.activation.tokenNames() == ["t"] },
    ]

    private static let ofFactors = [
        Self("validate", "/signature/validate") { try await $0.activation.validate(.twoFactors) },
        Self("password change", "/signature/validate") {
            try await $0.activation.changePassword(from: Self.passwordBytes, to: SecretBytes(utf8: "another one"))
        }
        .leaving(Self.isOldPasswordRight),
        Self("password change 4", "/password/change") {
            try await $0.activation.changePassword(from: Self.passwordBytes, to: SecretBytes(utf8: "another one"))
        }
        .of(.v4_0).leaving(Self.isOldPasswordRight),
        Self("biometry add", "/vault/unlock") {
            try await $0.activation.addBiometryFactor(key: ForeignSite.unlockKey, password: Self.passwordBytes)
        }
        .leaving { try await !$0.activation.hasBiometryFactor() },
        Self("biometry add 4", "/biometry/add") {
            try await $0.activation.addBiometryFactor(key: ForeignSite.unlockKey, password: Self.passwordBytes)
        }
        .of(.v4_0).leaving { try await !$0.activation.hasBiometryFactor() },
        Self("biometry remove 4", "/biometry/remove") { try await $0.activation.removeBiometryFactor() }
            .of(.v4_0).withBiometry.leaving { try await $0.activation.hasBiometryFactor() },
        Self("vault", "/vault/unlock") { _ = try await $0.activation.deriveDataKey(index: 1, with: .twoFactors) },
    ]

    private static let isOldPasswordRight: @Sendable (ForeignSite) async throws -> Bool = { site in
        site.letThrough()
        try await site.activation.validate(.twoFactors)
        return true
    }

    private static let ofServices = [
        Self("inbox read", "/message/read") {
            try await $0.client.makeInboxService(for: $0.activation).markRead(id: "m")
        },
        Self("inbox read all", "/message/read-all") {
            try await $0.client.makeInboxService(for: $0.activation).markAllRead()
        },
        Self("push", "/register/token") {
            try await $0.client.makePushService(for: $0.activation).register(token: "t", for: .fcm)
        },
    ]
}
