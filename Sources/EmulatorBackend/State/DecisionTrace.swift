import Basics
import EmulatorMessages
import ExactJSON
import PowerAuthProtocol

/// The trace of an attempt to decide an operation, under the names that real servers use in `additionalData`.
///
/// Of a request that failed to authenticate only where it came from is kept.
struct DecisionTrace: Equatable {
    private(set) var members: [String: JSONValue] = [:]

    /// A trace of nothing: what the bank asks for, no device has sent.
    init() {}

    /// A trace of an approval without a network.
    init(offlineBy activation: ServerActivation, _ factors: SignatureType) {
        self.add(activation, mobileTokenData: nil)
        self.add(factors: factors, proximityCode: nil)
    }

    /// A trace of where a request came from.
    init(of request: ReceivedRequest) {
        self.members["ipAddress"] = request.clientAddress.map(Self.excerpt)
        self.members["userAgent"] = request.header("User-Agent").map(Self.excerpt)
    }

    /// Adds who decides, and what the device sent along.
    mutating func add(_ activation: ServerActivation, mobileTokenData: JSONObject?) {
        self.members["activationId"] = .string(activation.id)
        self.members["applicationId"] = .string(activation.applicationID)
        self.members["mobileTokenData"] = mobileTokenData.map(JSONValue.object)
    }

    /// Adds how an approval was authenticated. A rejection has neither.
    mutating func add(factors: SignatureType, proximityCode: String?) {
        self.members["authFactor"] = .string(factors.rawValue)
        self.members["proximity_otp"] = proximityCode.map(Self.excerpt)
    }

    mutating func add(rejectReason: String?) { self.members["rejectReason"] = rejectReason.map { .string($0) } }

    /// Header fields do not count as what the state is made of, so what is kept of them has a bound.
    private static func excerpt(_ text: String) -> JSONValue {
        .string(text.utf8.count <= 512 ? text : String(decoding: text.utf8.prefix(512), as: UTF8.self))
    }
}

extension ReceivedRequest {
    /// The address that it came from, as real servers see it: what a proxy says counts more than the connection.
    fileprivate var clientAddress: String? {
        if let forwarded = self.header("X-Forwarded-For"), forwarded.utf8.contains(where: { $0 > 0x20 }),
            !forwarded.equalsIgnoringASCIICase("unknown")
        {
            return forwarded
        }
        return self.peerAddress
    }
}

extension ServerOperation {
    /// The traces of attempts to decide, as they are shown: with the device that the user agent tells of.
    var shownAdditionalData: JSONObject {
        var data = self.additionalData
        if let agent = data["userAgent"]?.value.string, let device = DeviceDescription(userAgent: agent) {
            data["device"] = ExportableJSON(.object(device.members))
        }
        return JSONObject(byName: data)
    }
}
