import APIDescriptions
import CloudCalls
import EmulatorBackend
import EmulatorMessages
import Foundation
import PowerAuthProtocol

extension Emulator {
    /// The cloud API for a bank's backend, as Swift calls: registrations, operations, offline codes, messages.
    public var cloud: Cloud { Cloud(core: self.core) }

    /// The cloud API as Swift calls. They take the same way as requests over HTTP: through the journal, faults included.
    public struct Cloud: Sendable {
        let core: EmulatorCore

        // Every call throws an ``EmulatorError``: `notFound`, `capacityExceeded`, or `refused` with what the server said.

        /// A device that may activate.
        public struct Registration: Sendable, Hashable, Identifiable {
            /// The registration's identifier, which is that of the activation.
            public let id: String
            /// The code that the user types in.
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
            /// The data that the device sent of itself with its decision.
            public let mobileTokenData: JSONValue?
        }

        /// The server's verdict on an offline code.
        public struct OfflineVerdict: Sendable, Hashable {
            /// Indicates whether the code approves the operation.
            public let isValid: Bool
            /// The number of wrong codes that the activation may still have.
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
            var request = NewCloudRegistration(userID: userID)
            request.flags = flags
            request.protocolVersion = protocolVersion
            let check = CloudAPI.RegistrationCheck(refusesOthersInProgress: false)
            let registration = try await self.call(CloudAPI.register, (check, request))
            let qrCode = registration.activationQRCode ?? ""
            return Registration(
                id: registration.id,
                activationCode: String(qrCode.prefix { $0 != "#" }),
                activationQRCode: qrCode
            )
        }

        /// Lets a registration become active, after its device has activated.
        public func commit(_ registrationID: String) async throws(EmulatorError) {
            _ = try await self.call(CloudAPI.commitRegistration, (registrationID, CloudAPI.RegistrationCommit()))
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
            var request = NewCloudOperation(userID: userID)
            request.template = template
            request.parameters = parameters
            return try await self.create(request, lifetime, demandsProximityCheck)
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
            var request = NewCloudOperation(userID: userID)
            request.operationType = name
            request.data = data
            request.formData = formData
            if !variants.isEmpty {
                let isOneFactor = !variants.contains { $0.utf8.contains(UInt8(ascii: "_")) }
                request.allowedSignatureType = [
                    "type": isOneFactor ? "1FA" : "2FA", "variants": .array(variants.map { .string($0) }),
                ]
            }
            request.ui = ui
            return try await self.create(request, lifetime, demandsProximityCheck)
        }

        private func create(
            _ request: NewCloudOperation,
            _ lifetime: Duration?,
            _ demandsProximityCheck: Bool?
        ) async throws(EmulatorError) -> Operation {
            var request = request
            request.demandsProximityCheck = demandsProximityCheck
            if let lifetime {
                request.expires = await self.core.now.addingTimeInterval(lifetime / .seconds(1)).milliseconds
            }
            return Operation(try await self.call(CloudAPI.createOperation, request))
        }

        /// An operation as it is now.
        public func operation(_ id: String) async throws(EmulatorError) -> Operation {
            Operation(try await self.call(CloudAPI.showOperation, id))
        }

        /// Cancels an operation that waits for a decision.
        public func cancelOperation(_ id: String, reason: String? = nil) async throws(EmulatorError) {
            _ = try await self.call(CloudAPI.cancelOperation, (id, CloudAPI.Cancellation(reason: reason)))
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
            let signer = CloudAPI.OfflineSigner(registrationID: registrationID)
            let code = try await self.call(CloudAPI.makeOfflineCode, (operationID, signer))
            return (code.content, code.nonce)
        }

        /// Approves an operation with the code that a person typed in.
        public func verifyOffline(
            code: String,
            nonce: String,
            operationID: String,
            registrationID: String
        ) async throws(EmulatorError) -> OfflineVerdict {
            let offline = CloudAPI.OfflineCode(code: code, nonce: nonce, registrationID: registrationID)
            let verdict = try await self.call(CloudAPI.verifyOfflineCode, (operationID, offline))
            return OfflineVerdict(isValid: verdict.isValid, remainingAttempts: verdict.remainingAttempts)
        }

        /// Puts a message into a user's inbox; returns its identifier.
        public func createMessage(
            userID: String,
            subject: String,
            summary: String,
            body: String,
            isHTML: Bool = false
        ) async throws(EmulatorError) -> String {
            let message = NewCloudMessage(
                userID: userID,
                subject: subject,
                summary: summary,
                body: body,
                format: isHTML ? .html : .text,
                isSilent: true
            )
            return try await self.call(CloudAPI.createMessage, message).id
        }

        func call<Input, Output>(
            _ endpoint: Endpoint<Input, Output>,
            _ input: Input
        ) async throws(EmulatorError) -> Output {
            let call = endpoint.call(input)
            let path = endpoint.path(of: call)
            let request = ReceivedRequest(
                method: endpoint.method,
                path: path,
                query: call.query,
                headers: [("Content-Type", "application/json")],
                body: call.body?.serialized() ?? []
            )
            let response = await self.core.relay(request)
            guard case .bytes(let bytes) = response.body else {
                throw EmulatorError(.refused, "A fault took the response to \(endpoint.method) \(path)")
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
            do { return try endpoint.output.readTolerantly(json ?? .null) } catch {
                throw EmulatorError(
                    .refused,
                    "The response to \(endpoint.method) \(path) cannot be read: \(error.message)"
                )
            }
        }
    }
}

extension Emulator.Cloud.Operation {
    fileprivate init(_ operation: CloudOperation) {
        self.init(
            id: operation.id,
            userID: operation.userID,
            status: operation.status,
            statusReason: operation.statusReason,
            rejectReason: operation.additionalData?["rejectReason"]?.string,
            failureCount: operation.failures,
            proximityCode: operation.proximityCode,
            mobileTokenData: operation.additionalData?["mobileTokenData"]
        )
    }
}
