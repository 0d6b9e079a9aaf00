public import ExactJSON
public import MobileTokenCloud

extension Emulator {
    /// The cloud API for a bank's backend: registrations, operations, offline codes, messages.
    ///
    /// Calls pass the same path as HTTP requests, without a socket: they are in the journal, and faults apply. Calls through
    /// ``cloudURL`` come from outside.
    public var cloud: CloudClient { self.core.cloud }
}

extension EmulatorCore {
    /// The cloud API in the name of its user.
    nonisolated var cloud: CloudClient { self.cloud(for: nil) }

    /// The cloud API for a virtual device that registers itself; the journal names the device.
    private nonisolated func cloud(for device: DeviceCaller?) -> CloudClient {
        CloudClient(inProcess: DeviceTransport { await self.respond(to: $0, from: .process, ofDevice: device) })
    }

    /// Makes a call of the cloud API for another one, whose error its error becomes.
    ///
    /// - Parameter device: The virtual device that the call is for.
    func calling<Result: Sendable>(
        for device: DeviceCaller? = nil,
        _ call: @Sendable (CloudClient) async throws -> Result
    ) async throws(EmulatorError) -> Result {
        do { return try await call(self.cloud(for: device)) } catch let error as CloudError {
            throw EmulatorError(error)
        } catch {
            throw EmulatorError(.refused, "\(error)")
        }
    }
}

/// Shorter forms for tests, and features that only this server has.
extension CloudClient {
    /// Registers a device for a user at a development server.
    ///
    /// - Parameters:
    ///   - userID: The user of the activation.
    ///   - flags: The flags of the activation.
    ///   - protocolVersion: The version whose master key signs the QR code, such as `4.0`; `nil` for the oldest that the server
    ///     accepts. The code itself is valid for every version.
    /// - Throws: `CloudError`.
    @discardableResult
    public func register(
        userID: String,
        flags: [String] = [],
        protocolVersion: String? = nil
    ) async throws -> CloudResponse<ActivationOffer> {
        var registration = CloudClient.NewRegistration(userID: userID)
        registration.givenFlags = flags
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
    ///   - userID: The user who decides; `nil` for the first one to claim it.
    ///   - parameters: Values for the template's placeholders; omitted ones have examples.
    ///   - lifetime: The time to decide, in whole seconds; `nil` for the template's.
    ///   - demandsProximityCheck: `true` if the approval must carry a one-time code; `nil` for the template's setting.
    /// - Throws: `CloudError`.
    @discardableResult
    public func createOperation(
        _ template: String,
        userID: String?,
        parameters: [String: JSONValue] = [:],
        lifetime: Duration? = nil,
        demandsProximityCheck: Bool? = nil
    ) async throws -> CloudResponse<Operation> {
        var operation = CloudClient.NewOperation(userID: userID)
        operation.templateName = template
        operation.allParameters = parameters
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
    ///   - data: The data to sign.
    ///   - formData: The form shown to the user: an object with at least `title` and `message`.
    ///   - userID: The user who decides; `nil` for the first one to claim it.
    ///   - variants: The allowed sets of factors, such as `possession_knowledge`; empty for any two.
    ///   - ui: The screens before and after it; `nil` for the default presentation.
    ///   - lifetime: The time to decide, in whole seconds; `nil` for the server's default.
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
        var operation = CloudClient.NewOperation(userID: userID)
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
    /// Makes a QR code with which any device of a user approves a pending operation without a network: of version 3, or of
    /// version 4 if the development server accepts no other.
    ///
    /// - Throws: `CloudError`.
    public func offlineCode(operation operationID: String) async throws -> OfflineCode {
        let signer = CloudAPI.OfflineSigner(registrationID: nil)
        return try await self.call(CloudAPI.makeOfflineCode, (operationID, signer)).value
    }
}

extension CloudClient.ActivationOffer {
    /// The QR code as text for a terminal.
    package var terminalQRCode: String? { QRCode(self.activationQRCode)?.terminalText }
}

extension Duration {
    /// The duration in whole seconds, clamped to `Int64`.
    fileprivate var wholeSeconds: Int64 { Int64(clamping: self.attoseconds / 1_000_000_000_000_000_000) }
}

extension EmulatorError {
    /// The error of a cloud API call that the server refused.
    init(_ error: CloudError) {
        switch error.code {
        case .operationNotFound, .registrationNotFound, .messageNotFound: self.init(.notFound, error.message)
        case _ where error.httpStatus == 507: self.init(.capacityExceeded, error.message)
        default: self.init(.refused, error.message)
        }
    }
}
