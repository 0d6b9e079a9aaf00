import Basics
import EmulatorMessages
import ExactJSON
import PowerAuthProtocol

/// The trace of an attempt to decide an operation, with the names in real servers' `additionalData`.
///
/// For a request that failed to authenticate, only its origin is kept.
struct DecisionTrace: Equatable {
    private(set) var members: [String: JSONValue] = [:]

    /// Creates an empty trace, for requests of the bank.
    init() {}

    /// Creates the trace of an approval without a network.
    init(offlineBy activation: ServerActivation, _ factors: SignatureType) {
        self.add(activation, mobileTokenData: nil)
        self.add(factors: factors, proximityCode: nil)
    }

    /// Creates a trace of a request's origin.
    init(of request: ReceivedRequest) {
        self.members.reserveCapacity(6)
        self.members["ipAddress"] = request.clientAddress.map(Self.excerpt)
        self.members["userAgent"] = request.header("User-Agent").map(Self.excerpt)
    }

    /// Adds the deciding activation and the device's data.
    mutating func add(_ activation: ServerActivation, mobileTokenData: JSONObject?) {
        self.members["activationId"] = .string(activation.id)
        self.members["applicationId"] = .string(activation.applicationID)
        self.members["mobileTokenData"] = mobileTokenData.map(JSONValue.object)
    }

    /// Adds the authentication of an approval. Rejections have none.
    mutating func add(factors: SignatureType, proximityCode: String?) {
        self.members["authFactor"] = .string(factors.rawValue)
        self.members["proximity_otp"] = proximityCode.map(Self.excerpt)
    }

    /// Adds the user's reason for a rejection; `null` without one.
    mutating func add(rejectReason: String?) {
        self.members["rejectReason"] = rejectReason.map { .string($0) } ?? .null
    }

    /// Limits a header field's value, because the size limits of the state do not count it.
    private static func excerpt(_ text: String) -> JSONValue {
        .string(text.utf8.count <= 512 ? text : String(decoding: text.utf8.prefix(512), as: UTF8.self))
    }
}

extension ReceivedRequest {
    /// The sender's address, as real servers see it: a proxy's field takes precedence over the connection.
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
    /// The traces as shown, with the device parsed from the user agent.
    var shownAdditionalData: JSONObject {
        var data = self.additionalData
        if let agent = data["userAgent"]?.value.string, let device = DeviceDescription(userAgent: agent) {
            data["device"] = ExportableJSON(.object(device.members))
        }
        return JSONObject(byName: data)
    }
}
