import EmulatorBackend
import EmulatorMessages
import Foundation
import PowerAuth
import PowerAuthCrypto
import PowerAuthProtocol

/// All that a virtual device keeps: the sealed rows of its store, and the key that opens them. A value, to be copied and put back.
struct DeviceKeys: Sendable {
    /// The device before it has an activation, too.
    struct Model: Sendable {
        let version: ProtocolVersion
        /// The suite of a new activation of version 4.
        let suite: AlgorithmSuite
        /// The string that configures it for its application.
        let application: String
        let sealingKey: SecretBytes
        /// The service whose push messages it registers for.
        let push: Emulator.NewDevice.Push?
    }

    let activationID: String
    let model: Model
    let rows: MemoryDriver.Contents
    /// The key of its password, once it was asked for: deriving it takes milliseconds.
    let unlocked: Authentication.UnlockedFactor?
    /// Indicates that the device has registered for push messages.
    let isRegistered: Bool
}

extension DeviceKeys.Model {
    /// Creates the model of a new device.
    ///
    /// - Throws: An error when the server offers no suite of version 4, or not the requested one.
    init(_ request: Emulator.NewDevice, _ backend: Backend) throws(DeviceFailure) {
        let offered = backend.protocolRules.offeredSuites
        self.version = request.version
        if request.version == .v4_0 {
            // Without another wish the one that every libcrypto has.
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
        self.application = backend.defaultApplication.sdkConfiguration
        self.sealingKey = SecureRandom.secret(Sealing.keyByteCount)
        self.push = request.push
    }
}

/// The surroundings of a virtual device: its way to the server, and the time.
struct DeviceSite: Sendable {
    let transport: DeviceTransport
    let clock: DeviceClock
}
