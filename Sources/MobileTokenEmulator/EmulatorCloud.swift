import EmulatorBackend
import EmulatorMessages
import Foundation
import PowerAuthProtocol

extension Emulator {
    /// What a bank's backend does at the cloud API, as Swift calls: registrations, operations, offline codes, messages.
    public var cloud: Cloud { Cloud(core: self.core) }

    /// The cloud API as Swift calls. They take the same way as requests over HTTP: through the journal, faults included.
    public struct Cloud: Sendable {
        let core: EmulatorCore

        // Every call throws an ``EmulatorError``: `notFound`, `capacityExceeded`, or `refused` with what the server said.

        /// A device that may activate.
        public struct Registration: Sendable, Hashable, Identifiable {
            /// The registration's identifier, which is that of the activation.
            public let id: String
            /// What the user types in.
            public let activationCode: String
            /// The content of the QR code, `CODE#SIGNATURE`.
            public let activationQRCode: String

            /// The QR code for a terminal, where a phone can scan it.
            package var terminalQRCode: String? { QRCode(self.activationQRCode)?.terminalText }
        }

        /// An operation as the cloud API shows it.
        public struct Operation: Sendable, Hashable, Identifiable {
            /// The operation's identifier.
            public let id: String
            /// The user it belongs to; `nil` until a user claims it.
            public let userID: String?
            /// `PENDING`, `APPROVED`, `REJECTED`, `CANCELED`, `EXPIRED` or `FAILED`.
            public let status: String
            /// The reason that the bank gave for its cancellation.
            public let statusReason: String?
            /// The reason that the user's device gave for its rejection.
            public let rejectReason: String?
            /// Failed approvals.
            public let failureCount: Int
            /// The one-time code of this moment, for operations with a proximity check.
            public let proximityCode: String?
            /// What the device sent of itself with its decision.
            public let mobileTokenData: JSONValue?
        }

        /// The server's verdict on an offline code.
        public struct OfflineVerdict: Sendable, Hashable {
            /// Whether the code approves the operation.
            public let isValid: Bool
            /// How many wrong ones the activation may still have.
            public let remainingAttempts: Int
        }

        /// Registers a device for a user.
        ///
        /// - Parameters:
        ///   - userID: Whose activation it will be.
        ///   - flags: The flags of the activation.
        ///   - protocolVersion: The version whose master key signs the QR code, such as `4.0`; `nil` for the oldest that the
        ///     server accepts. The code itself is good for every version.
        @discardableResult
        public func register(
            userID: String,
            flags: [String] = [],
            protocolVersion: String? = nil
        ) async throws(EmulatorError) -> Registration {
            var body: JSONObject = ["userId": .string(userID), "flags": .array(flags.map { .string($0) })]
            body["protocolVersion"] = protocolVersion.map { .string($0) }
            let response = try await self.call("POST", "/v2/registrations", .object(body))
            let qrCode = try response.string("activationQrCodeData")
            return Registration(
                id: try response.string("registrationId"),
                activationCode: String(qrCode.prefix { $0 != "#" }),
                activationQRCode: qrCode
            )
        }

        /// Lets a registration become active, after its device has activated.
        public func commit(_ registrationID: String) async throws(EmulatorError) {
            _ = try await self.call("POST", "/v2/registrations/\(registrationID)/commit", [:])
        }

        /// Creates an operation from a template.
        ///
        /// - Parameters:
        ///   - template: The template's name.
        ///   - userID: The user who is to decide; `nil` leaves it to the first who claims it.
        ///   - parameters: Values for the template's placeholders; those left out have examples.
        ///   - lifetime: Until when it can be decided; `nil` leaves it to the template.
        ///   - demandsProximityCheck: Whether the approval must carry a one-time code; `nil` leaves it to the template.
        @discardableResult
        public func createOperation(
            _ template: String,
            userID: String?,
            parameters: [String: JSONValue] = [:],
            lifetime: Duration? = nil,
            demandsProximityCheck: Bool? = nil
        ) async throws(EmulatorError) -> Operation {
            var body: JSONObject = ["template": .string(template)]
            let members = parameters.sorted { $0.key < $1.key }.map { JSONObject.Member(key: $0.key, value: $0.value) }
            body["parameters"] = .object(JSONObject(members))
            return try await self.createOperation(body, userID, lifetime, demandsProximityCheck)
        }

        /// Creates an operation without a template.
        ///
        /// ```swift
        /// try await emulator.cloud.createOperation(
        ///     named: "signing",
        ///     data: "A1*I12*R99",
        ///     formData: ["title": "Sign", "message": "The contract", "attributes": []],
        ///     userID: "alice"
        /// )
        /// ```
        ///
        /// - Parameters:
        ///   - name: The name that the device sees.
        ///   - data: What is signed.
        ///   - formData: What the user is shown: an object with at least `title` and `message`.
        ///   - userID: The user who is to decide; `nil` leaves it to the first who claims it.
        ///   - variants: The sets of factors it may be approved with, such as `possession_knowledge`; empty for any two.
        ///   - ui: How it is shown, if not in the usual way.
        ///   - lifetime: Until when it can be decided; `nil` leaves it to the server.
        ///   - demandsProximityCheck: Whether the approval must carry a one-time code.
        @discardableResult
        public func createOperation(
            named name: String,
            data: String,
            formData: JSONValue,
            userID: String?,
            variants: [String] = [],
            ui: JSONValue? = nil,
            lifetime: Duration? = nil,
            demandsProximityCheck: Bool? = nil
        ) async throws(EmulatorError) -> Operation {
            var body: JSONObject = ["operationType": .string(name), "data": .string(data), "formData": formData]
            if !variants.isEmpty {
                let isOneFactor = !variants.contains { $0.utf8.contains(UInt8(ascii: "_")) }
                body["allowedSignatureType"] = [
                    "type": isOneFactor ? "1FA" : "2FA", "variants": .array(variants.map { .string($0) }),
                ]
            }
            body["ui"] = ui
            return try await self.createOperation(body, userID, lifetime, demandsProximityCheck)
        }

        private func createOperation(
            _ body: JSONObject,
            _ userID: String?,
            _ lifetime: Duration?,
            _ demandsProximityCheck: Bool?
        ) async throws(EmulatorError) -> Operation {
            var body = body
            if let userID { body["userId"] = .string(userID) }
            if let demandsProximityCheck { body["proximityCheckEnabled"] = .bool(demandsProximityCheck) }
            if let lifetime {
                let expires = await self.core.now.addingTimeInterval(lifetime / .seconds(1))
                body["timestampExpires"] = .number(JSONNumber(expires.milliseconds))
            }
            return try Operation(await self.call("POST", "/v2/operations", .object(body)))
        }

        /// An operation as it is now.
        public func operation(_ id: String) async throws(EmulatorError) -> Operation {
            try Operation(await self.call("GET", "/v2/operations/\(id)"))
        }

        /// Cancels an operation that waits for a decision.
        public func cancelOperation(_ id: String, reason: String? = nil) async throws(EmulatorError) {
            _ = try await self.call(
                "DELETE",
                "/v2/operations/\(id)",
                query: reason.map { [("statusReason", $0)] } ?? []
            )
        }

        /// The content of the QR code that approves an operation without a network, and the nonce to verify its code with.
        ///
        /// - Parameters:
        ///   - operationID: The operation's identifier.
        ///   - registrationID: Whose device it is for; `nil` makes one that any device of version 3 can read, or of version 4
        ///     where the server accepts no other.
        public func offlineQRCode(
            operationID: String,
            registrationID: String?
        ) async throws(EmulatorError) -> (content: String, nonce: String) {
            let query = registrationID.map { [("registrationId", $0)] } ?? []
            let response = try await self.call("GET", "/v2/operations/\(operationID)/offline/qr", query: query)
            return (try response.string("operationQrCodeData"), try response.string("nonce"))
        }

        /// Approves an operation with the code that a person typed in.
        public func verifyOffline(
            code: String,
            nonce: String,
            operationID: String,
            registrationID: String
        ) async throws(EmulatorError) -> OfflineVerdict {
            let response = try await self.call(
                "POST",
                "/v2/operations/\(operationID)/offline/otp",
                ["otp": .string(code), "nonce": .string(nonce), "registrationId": .string(registrationID)]
            )
            return OfflineVerdict(
                isValid: response["otpValid"]?.bool ?? false,
                remainingAttempts: Int(response["remainingAttempts"]?.int64 ?? 0)
            )
        }

        /// Puts a message into a user's inbox; returns its identifier.
        public func createMessage(
            userID: String,
            subject: String,
            summary: String,
            body: String,
            isHTML: Bool = false
        ) async throws(EmulatorError) -> String {
            try await self.call(
                "POST",
                "/v2/inbox/messages",
                [
                    "userId": .string(userID), "subject": .string(subject), "summary": .string(summary),
                    "body": .string(body), "type": isHTML ? "html" : "text", "silent": true,
                ]
            ).string("id")
        }

        /// The OpenID providers, by their identifiers.
        public func oidcProviders() async throws(EmulatorError) -> [Emulator.OIDCProvider] {
            try (await self.call("GET", "/v2/oidc/providers")["providers"]?.array ?? []).map {
                (provider) throws(EmulatorError) in try Emulator.OIDCProvider(provider)
            }
        }

        /// Creates an OpenID provider, or changes the one of the same identifier; switched off, it is as if it were not there.
        public func setOIDCProvider(_ provider: Emulator.OIDCProvider) async throws(EmulatorError) {
            _ = try await self.call(
                "PUT",
                "/v2/oidc/providers/\(provider.id)",
                [
                    "clientId": .string(provider.clientID), "scopes": .string(provider.scopes),
                    "redirectUri": .string(provider.redirectURL), "pkceEnabled": .bool(provider.requiresPKCE),
                    "codeLifetime": .init(floatLiteral: provider.codeLifetime), "enabled": .bool(provider.isEnabled),
                ]
            )
        }

        /// Removes an OpenID provider.
        public func removeOIDCProvider(_ id: String) async throws(EmulatorError) {
            _ = try await self.call("DELETE", "/v2/oidc/providers/\(id)")
        }

        func call(
            _ method: String,
            _ path: String,
            query: [(name: String, value: String)] = [],
            _ body: JSONValue? = nil
        ) async throws(EmulatorError) -> JSONValue {
            let request = ReceivedRequest(
                method: method,
                path: path,
                query: query,
                headers: [("Content-Type", "application/json")],
                body: body?.serialized() ?? []
            )
            let response = await self.core.relay(request)
            guard case .bytes(let bytes) = response.body else {
                throw EmulatorError(.refused, "A fault took the response to \(method) \(path)")
            }
            let json = try? JSONValue(parsing: bytes)
            guard response.status < 300 else {
                let message = json?["responseObject"]?["message"]?.string ?? "HTTP \(response.status)"
                let isUnknown = json?["responseObject"]?["code"]?.string?.hasSuffix("_NOT_FOUND") == true
                switch response.status {
                case _ where isUnknown: throw EmulatorError(.notFound, message)
                case 507: throw EmulatorError(.capacityExceeded, message)
                default: throw EmulatorError(.refused, message)
                }
            }
            return json ?? .null
        }
    }
}

extension Emulator.Cloud.Operation {
    fileprivate init(_ response: JSONValue) throws(EmulatorError) {
        self.init(
            id: try response.string("operationId"),
            userID: response["userId"]?.string,
            status: try response.string("status"),
            statusReason: response["statusReason"]?.string,
            rejectReason: response["additionalData"]?["rejectReason"]?.string,
            failureCount: Int(response["failureCount"]?.int64 ?? 0),
            proximityCode: response["proximityOtp"]?.string,
            mobileTokenData: response["additionalData"]?["mobileTokenData"]
        )
    }
}

extension EmulatorOIDCProvider {
    fileprivate init(_ response: JSONValue) throws(EmulatorError) {
        self.init(id: try response.string("providerId"))
        self.clientID = try response.string("clientId")
        self.scopes = try response.string("scopes")
        self.redirectURL = try response.string("redirectUri")
        self.requiresPKCE = response["pkceEnabled"]?.bool ?? self.requiresPKCE
        self.codeLifetime = response["codeLifetime"]?.number.flatMap { Double($0.literal) } ?? self.codeLifetime
        self.isEnabled = response["enabled"]?.bool ?? self.isEnabled
    }
}

extension JSONValue {
    func string(_ name: String) throws(EmulatorError) -> String {
        guard let string = self[name]?.string else { throw EmulatorError(.refused, "The response has no \(name)") }
        return string
    }
}
