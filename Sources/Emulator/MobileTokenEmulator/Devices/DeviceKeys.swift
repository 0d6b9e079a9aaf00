import EmulatorBackend
import PowerAuthClient
import PowerAuthCrypto
import PowerAuthProtocol

/// A virtual device's stored data: the sealed rows of its store, and their key. A value that can be copied and restored.
struct DeviceKeys: Sendable {
    /// The properties of a device that it has even before its activation.
    struct Model: Sendable {
        let version: ProtocolVersion
        /// The suite of a new activation of version 4.
        let suite: AlgorithmSuite
        /// The application's configuration string.
        let application: String
        let sealingKey: SecretBytes
        /// The push service to register for.
        let push: Emulator.NewDevice.Push?
    }

    let activationID: String
    let model: Model
    let rows: MemoryDriver.Contents
    /// The unlocked password key, once used: deriving it takes milliseconds.
    let unlocked: Activation.Authentication.UnlockedFactor?
    /// Indicates whether the device has registered for push messages.
    let isRegistered: Bool
}

extension DeviceKeys.Model {
    /// Creates the model of a new device.
    ///
    /// - Throws: An error if the server offers no suite of version 4, or not the requested one.
    init(_ request: Emulator.NewDevice, _ backend: Backend) throws(DeviceFailure) {
        let offered = backend.protocolRules.offeredSuites
        self.version = request.version
        if request.version == .v4_0 {
            // By default, the suite available in every libcrypto.
            let suite = request.suite ?? (offered.contains(.p384) ? .p384 : offered.first)
            guard let suite else { throw .refused(reason: "the server offers no suite of version 4") }
            guard offered.contains(suite) else {
                let names = offered.map(\.rawValue).joined(separator: ", ")
                throw .refused(reason: "the server does not offer \(suite.rawValue), but \(names)")
            }
            self.suite = suite
        } else {
            self.suite = .p384
        }
        do {
            let code = request.origin.activationCode
            self.application = try backend.sdkConfiguration(ofApplication: request.applicationID, orOf: code)
        } catch {
            throw .refused(reason: error.message)
        }
        self.sealingKey = SecureRandom.secret(Sealing.keyByteCount)
        self.push = request.push
    }
}

/// The environment of a virtual device: its connection to the server, and the time.
struct DeviceSite: Sendable {
    let transport: DeviceTransport
    let clock: DeviceClock
}
