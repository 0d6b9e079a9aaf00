import Basics
import ExactJSON
import Foundation
public import MobileTokenCloud

/// The calls of a desk, made by the client of PowerAuth Cloud.
package struct CloudServer: ApprovalServer {
    private let cloud: CloudClient

    package init(_ cloud: CloudClient) { self.cloud = cloud }

    package var timeout: Duration { self.cloud.timeout }

    package func time() async throws(ServerFailure) -> Int64? {
        do {
            // The server has no such operation: that it says so, and when, is all that is asked.
            return try await self.show(operation: "00000000-0000-0000-0000-000000000000").date
        } catch {
            switch error.kind {
            case .refused, .notFound, .notPending: return error.date
            case .unanswered, .canceled:
                guard let date = error.date else { throw error }
                return date
            }
        }
    }

    package func create(_ operation: NewApprovalOperation) async throws(ServerFailure) -> Dated<ApprovalOperation> {
        var new = CloudClient.NewOperation(
            template: operation.template.name,
            userID: operation.userID,
            parameters: operation.parameters
        )
        new.language = operation.language
        new.externalID = operation.externalID
        new.expires = Date(milliseconds: operation.expires)
        return try await Self.answer { try await self.cloud.createOperation(new) }
    }

    package func show(operation id: String) async throws(ServerFailure) -> Dated<ApprovalOperation> {
        try await Self.answer { try await self.cloud.operation(id) }
    }

    package func cancel(operation id: String, reason: String) async throws(ServerFailure) -> Dated<ApprovalOperation> {
        try await Self.answer { try await self.cloud.cancelOperation(id, reason: reason) }
    }

    package func show(registration id: String) async throws(ServerFailure) -> Dated<ApprovingRegistration> {
        let answer = try await Self.mappingErrors { try await self.cloud.registration(id) }
        let registration = ApprovingRegistration(
            id: answer.value.id,
            userID: answer.value.userID,
            status: answer.value.status.rawValue,
            created: answer.value.created.milliseconds
        )
        return Dated(registration, date: answer.date?.milliseconds)
    }

    package func offlineCode(
        ofOperation id: String,
        registration: String
    ) async throws(ServerFailure) -> Dated<String> {
        let answer = try await Self.mappingErrors {
            try await self.cloud.offlineCode(operation: id, registration: registration)
        }
        return Dated(answer.value.content, date: answer.date?.milliseconds)
    }

    private static func answer(
        _ call: () async throws -> CloudResponse<CloudClient.Operation>
    ) async throws(ServerFailure) -> Dated<ApprovalOperation> {
        let answer = try await self.mappingErrors(call)
        let operation = answer.value
        // As they came: one that is no string would be missing among the client's.
        let parameters = answer.json["responseObject"]?["parameters"]?.object ?? answer.json["parameters"]?.object
        guard let parameters, parameters.duplicateKeys.isEmpty else {
            throw ServerFailure(
                .unanswered(isOutcomeUnknown: true),
                code: "invalidResponse",
                message: "The answer has no parameters, or one twice",
                date: answer.date?.milliseconds
            )
        }
        return Dated(
            ApprovalOperation(
                id: operation.id,
                userID: operation.userID,
                status: operation.status,
                operationType: operation.operationType,
                parameters: Dictionary(
                    parameters.members.map { ($0.key, $0.value) },
                    uniquingKeysWith: { first, _ in first }
                ),
                created: operation.created.milliseconds,
                expires: operation.expires.milliseconds,
                data: operation.data,
                finalized: operation.finalized?.milliseconds,
                additionalData: operation.additionalData,
                reason: operation.rejectReason ?? operation.statusReason
            ),
            date: answer.date?.milliseconds
        )
    }

    private static func mappingErrors<Value>(_ call: () async throws -> Value) async throws(ServerFailure) -> Value {
        do {
            return try await call()
        } catch let error as CloudError {
            throw ServerFailure(error)
        } catch is CancellationError {
            throw ServerFailure(.canceled, code: "canceled", message: "The call was canceled")
        } catch {
            throw ServerFailure(
                .unanswered(isOutcomeUnknown: true),
                code: "networkUnknown",
                message: "The call failed",
                underlying: error
            )
        }
    }
}

extension ServerFailure {
    init(_ error: CloudError) {
        let kind: Kind
        switch error.code {
        case _ where error.isOutcomeUnknown: kind = .unanswered(isOutcomeUnknown: true)
        case .operationNotFound, .registrationNotFound: kind = .notFound
        case .operationNotChangeable: kind = .notPending
        // The server's own word about the request. What is said of the server, or of who asks, may change.
        case .invalidRequest, .registrationNotAllowed, .registrationFailed, .pushFailed, .otherRefusal:
            kind = error.serverCode == nil ? .unanswered(isOutcomeUnknown: false) : .refused
        default: kind = .unanswered(isOutcomeUnknown: false)
        }
        self.init(
            kind,
            code: error.serverCode ?? error.code.description,
            message: error.message,
            retryAfter: error.retryAfter,
            date: error.date?.milliseconds,
            underlying: error
        )
    }
}

extension ApprovalDesk {
    /// Opens a desk.
    ///
    /// - Parameters:
    ///   - audience: The name of what the approvals are for, such as `billing/production`; 1 to 255 printable characters of ASCII. One audience
    ///     has one ledger.
    ///   - cloud: The server that asks people. Give it pins, and credentials that cannot register devices.
    ///   - ledger: The store of the questions that were asked, and of how far each came.
    ///   - configuration: Everything else.
    /// - Throws: ``ApprovalError/Code/ledgerFailed``, ``ApprovalError/Code/ledgerWentBack``, ``ApprovalError/Code/invalidRequest``.
    public convenience init(
        audience: String,
        cloud: CloudClient,
        ledger: ApprovalLedger,
        configuration: Configuration = Configuration()
    ) async throws {
        try await self.init(
            audience: audience,
            server: CloudServer(cloud),
            ledger: ledger,
            configuration: configuration
        )
    }
}
