import CloudCalls
import EmulatorMessages
public import ExactJSON
import Foundation
public import MobileTokenCloud

extension Emulator {
    /// The cloud API for a bank's backend: registrations, operations, offline codes, messages.
    ///
    /// Its calls take the way of requests over HTTP, but for the socket: through the journal, faults included. Those of ``cloudURL``
    /// come from outside.
    public var cloud: CloudClient { self.core.cloud }
}

extension EmulatorCore {
    /// The cloud API in the name of its user.
    nonisolated var cloud: CloudClient {
        CloudClient(inProcess: DeviceTransport { await self.respond(to: $0, from: .process) })
    }

    /// Makes a call of the cloud API for another one, whose error its error becomes.
    func calling<Result: Sendable>(
        _ call: @Sendable (CloudClient) async throws -> Result
    ) async throws(EmulatorError) -> Result {
        do { return try await call(self.cloud) } catch let error as CloudError {
            throw EmulatorError(error)
        } catch {
            throw EmulatorError(.refused, "\(error)")
        }
    }
}

/// Shorter forms for tests, and what only this server has.
extension CloudClient {
    /// Registers a device for a user at a development server.
    ///
    /// - Parameters:
    ///   - userID: The user of the activation.
    ///   - flags: The flags of the activation.
    ///   - protocolVersion: The version whose master key signs the QR code, such as `4.0`; `nil` for the oldest that the
    ///     server accepts. The code itself is good for every version.
    /// - Throws: `CloudError`.
    @discardableResult
    public func register(
        userID: String,
        flags: [String] = [],
        protocolVersion: String? = nil
    ) async throws -> CloudResponse<ActivationOffer> {
        var registration = NewCloudRegistration(userID: userID)
        registration.flags = flags
        registration.protocolVersion = protocolVersion
        return try await self.register(registration)
    }

    /// Creates an operation from a template of a development server.
    ///
    /// ```swift
    /// let payment = try await emulator.cloud.createOperation("payment", userID: "alice", parameters: ["amount": "49.90"])
    /// ```
    ///
    /// - Parameters:
    ///   - template: The template's name.
    ///   - userID: The user who is to decide; `nil` leaves it to the first who claims it.
    ///   - parameters: Values for the template's placeholders; those left out have examples.
    ///   - lifetime: The time within which it can be decided, in whole seconds; `nil` leaves it to the template.
    ///   - demandsProximityCheck: `true` if the approval must carry a one-time code; `nil` leaves it to the template.
    /// - Throws: `CloudError`.
    @discardableResult
    public func createOperation(
        _ template: String,
        userID: String?,
        parameters: [String: JSONValue] = [:],
        lifetime: Duration? = nil,
        demandsProximityCheck: Bool? = nil
    ) async throws -> CloudResponse<Operation> {
        var operation = NewCloudOperation(userID: userID)
        operation.template = template
        operation.parameters = parameters
        operation.lifetime = lifetime?.wholeSeconds
        operation.demandsProximityCheck = demandsProximityCheck
        return try await self.createOperation(operation)
    }

    /// Creates an operation at a development server without a template.
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
    ///   - data: The data that is signed.
    ///   - formData: The form that the user is shown: an object with at least `title` and `message`.
    ///   - userID: The user who is to decide; `nil` leaves it to the first who claims it.
    ///   - variants: The sets of factors it may be approved with, such as `possession_knowledge`; empty for any two.
    ///   - ui: The screens before and after it; `nil` for the usual way.
    ///   - lifetime: The time within which it can be decided, in whole seconds; `nil` leaves it to the server.
    /// - Throws: `CloudError`.
    @discardableResult
    public func createOperation(
        named name: String,
        data: String,
        formData: JSONValue,
        userID: String?,
        variants: [String] = [],
        ui: JSONValue? = nil,
        lifetime: Duration? = nil
    ) async throws -> CloudResponse<Operation> {
        var operation = NewCloudOperation(userID: userID)
        operation.operationType = name
        operation.data = data
        operation.formData = formData
        if !variants.isEmpty {
            let isOneFactor = !variants.contains { $0.utf8.contains(UInt8(ascii: "_")) }
            operation.allowedSignatureType = [
                "type": isOneFactor ? "1FA" : "2FA", "variants": .array(variants.map { .string($0) }),
            ]
        }
        operation.ui = ui
        operation.lifetime = lifetime?.wholeSeconds
        return try await self.createOperation(operation)
    }
}

extension CloudClient {
    /// Makes a QR code with which any device of a user approves a pending operation without a network: of version 3, or of version 4
    /// where the development server accepts no other.
    ///
    /// - Throws: `CloudError`.
    public func offlineCode(operation operationID: String) async throws -> OfflineCode {
        let signer = CloudAPI.OfflineSigner(registrationID: nil)
        return OfflineCode(try await self.call(CloudAPI.makeOfflineCode, (operationID, signer)).value)
    }
}

extension CloudClient.ActivationOffer {
    /// The QR code for a terminal, where a phone can scan it.
    package var terminalQRCode: String? { QRCode(self.activationQRCode)?.terminalText }
}

extension Duration {
    /// The whole seconds of it: the largest that there are, when there are more.
    fileprivate var wholeSeconds: Int64 { Int64(clamping: self.attoseconds / 1_000_000_000_000_000_000) }
}

extension EmulatorError {
    /// The error for a call of the cloud API that the server refused itself.
    init(_ error: CloudError) {
        switch error.code {
        case .operationNotFound, .registrationNotFound, .messageNotFound: self.init(.notFound, error.message)
        case _ where error.httpStatus == 507: self.init(.capacityExceeded, error.message)
        default: self.init(.refused, error.message)
        }
    }
}
