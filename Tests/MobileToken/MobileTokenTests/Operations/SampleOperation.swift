import ExactJSON
import Foundation
import MobileToken

extension UserOperation {
    /// The date around which the tests of this module live.
    static let sampleDate = Date(timeIntervalSince1970: 1_700_000_000)

    static func sample(
        _ id: String,
        name: String = "payment",
        expiresIn seconds: Double = 300,
        status: String = "PENDING",
        variants: [String] = ["possession_knowledge", "possession_biometry"]
    ) -> Self {
        do {
            return try UserOperation(
                parsing: .sampleOperation(id, name: name, expiresIn: seconds, status: status, variants: variants)
            )
        } catch {
            preconditionFailure("The sample is not an operation: \(error)")
        }
    }
}

extension JSONValue {
    static func sampleOperation(
        _ id: String,
        name: String = "payment",
        data: String = "A1*A100CZK",
        expiresIn seconds: Double = 300,
        status: String = "PENDING",
        variants: [String] = ["possession_knowledge", "possession_biometry"]
    ) -> Self {
        [
            "id": .string(id), "name": .string(name), "data": .string(data), "status": .string(status),
            "operationCreated": .string(Self.text(UserOperation.sampleDate)),
            "operationExpires": .string(Self.text(UserOperation.sampleDate + seconds)),
            "allowedSignatureType": ["type": "2FA", "variants": .array(variants.map { .string($0) })],
            "formData": ["title": "Payment", "message": "Pay?", "attributes": []],
        ]
    }

    private static func text(_ date: Date) -> String {
        date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}

enum SampleAnswer {
    static func list(_ operations: [JSONValue]) -> [UInt8] {
        Self.object(.array(operations))
    }

    static func list(_ ids: String...) -> [UInt8] {
        Self.list(ids.map { .sampleOperation($0) })
    }

    static func object(_ object: JSONValue) -> [UInt8] {
        JSONValue.object(["status": "OK", "responseObject": object]).serialized()
    }

    static let ok = Array(#"{"status":"OK"}"#.utf8)
}

extension OperationList.Change {
    var addedIDs: [String] { self.added.map(\.id) }
    var updatedIDs: [String] { self.updated.map(\.new.id) }
    var removedIDs: [String] { self.removed.map(\.operation.id) }
    var operationIDs: [String] { self.operations.map(\.id) }
}
