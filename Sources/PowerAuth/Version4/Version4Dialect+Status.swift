import Foundation
import HTTPClientTransport
import PowerAuthProtocol

extension Version4Dialect {
    func status() async throws -> StatusReport {
        let path = try ServerEndpoint.activationStatus4.path(in: self.version)
        let response = try await self.keys.send(path, headers: [:], Array("{}".utf8))
        return try response.read { bytes in
            let status = try Wire.decode(Version4.ActivationStatusResponse.self, from: bytes, of: path)
            let blob = try MobileTokenError.mapErrors(ofResponse: path) {
                try Version4.ActivationStatusBlob(status.activationStatus, key: self.utility.status)
            }
            return StatusReport(
                state: blob.state,
                failedAttempts: Int(blob.failedAttempts),
                maximumFailedAttempts: Int(blob.maxFailedAttempts),
                counter: ReportedCounter(
                    byte: blob.counterByte,
                    hash: blob.counterHash,
                    key: self.utility.counterHash,
                    lookAhead: blob.lookAhead
                ),
                customObject: status.customObject,
                serverVersion: blob.currentVersion,
                flags: ActivationStatus.Flags(blob.flags),
                blockedUntil: status.timestampBlockExpire.map { Date(millisecondsSince1970: $0) }
            )
        }
    }
}

extension ActivationStatus.Flags {
    fileprivate init(_ flags: Version4.ActivationStatusBlob.Flags) {
        self = []
        if flags.contains(.awaitsConfirmation) { self.insert(.awaitsConfirmation) }
        if flags.contains(.upgradeAwaitsConfirmation) { self.insert(.upgradeAwaitsConfirmation) }
        if flags.contains(.suiteUnsupported) { self.insert(.suiteUnsupported) }
        if flags.contains(.biometryIsOn) { self.insert(.biometryIsOn) }
    }
}
