import Foundation
import PowerAuthProtocol

extension Version4Dialect {
    func statusQuery() throws -> StatusQuery {
        let path = try ServerEndpoint.activationStatus4.path(in: self.version)
        return StatusQuery(request: EndpointRequest(.activationStatus4, in: self.version)) { bytes in
            let status = try Wire.decode(Version4.ActivationStatusResponse.self, from: bytes, of: path)
            let blob = try MobileTokenError.mapErrors(ofResponse: path) {
                try ActivationStatusBlob(status.activationStatus, key: self.utility.status)
            }
            var report = StatusReport(
                blob,
                counterHashKey: self.utility.counterHash,
                customObject: status.customObject
            )
            report.flags = ActivationStatus.Flags(blob.flags)
            report.blockedUntil = status.timestampBlockExpire.map { Date(millisecondsSince1970: $0) }
            return report
        }
    }
}

extension ActivationStatus.Flags {
    fileprivate init(_ flags: ActivationStatusBlob.Flags) {
        self = []
        if flags.contains(.awaitsConfirmation) { self.insert(.awaitsConfirmation) }
        if flags.contains(.upgradeAwaitsConfirmation) { self.insert(.upgradeAwaitsConfirmation) }
        if flags.contains(.suiteUnsupported) { self.insert(.suiteUnsupported) }
        if flags.contains(.biometryIsOn) { self.insert(.biometryIsOn) }
    }
}
