import ExactJSON
import HTTPClientTransport
import PowerAuth

// Requests and the changes that they follow.
extension Judge {
    /// A sent request that may arrive.
    struct Flight {
        let id: Int
        let process: Int
        /// Indicates whether an agent sent it, as opposed to a person.
        let isAutomatic: Bool
        /// When its sender gave it to the network.
        let called: Int64
        let path: Substring
        var isPoll: Bool { self.path.hasSuffix("/operation/list") }
        var isStatus: Bool { self.path.hasSuffix(World.statusPath) }
        let decision: Decision?
        let signature: String?
        let activationID: String?
        let body: [UInt8]
        /// Indicates whether it is held back, so that others may overtake it.
        var isLate = false
        /// Indicates whether the network brings it later than its receipt says that it can.
        var isOverdue = false
        /// The signed data of an approval, and what a requester's new operation is bound to.
        let data: String?
        let question: String?
        /// The operation that a requester looks at, and the one that it cancels.
        let looksAt: String?
        let ends: String?
        /// The change that took its counter value.
        var commit: Commit?

        init(_ request: HTTPRequest, id: Int, process: Int, isAutomatic: Bool, at now: Int64) {
            self.id = id
            self.process = process
            self.isAutomatic = isAutomatic
            self.called = now
            self.path = request.url.dropFirst(Setting.baseURL.count)
            self.signature = request.headers["X-PowerAuth-Authorization"]
            self.activationID = self.signature.flatMap { header in
                header.firstRange(of: "activation_id=\"").map { range in
                    String(header[range.upperBound...].prefix { $0 != "\"" })
                }
            }
            self.body = request.body ?? []
            let isApproval = request.url.hasSuffix("/operation/authorize")
            let isDecision = isApproval || request.url.hasSuffix("/operation/cancel")
            let object = isDecision ? (try? JSONValue(parsing: self.body))?["requestObject"] : nil
            self.data = object?["data"]?.string
            self.question =
                self.path == "/v2/operations" ? (try? JSONValue(parsing: self.body))?["externalId"]?.string : nil
            let prefix = "/v2/operations/"
            let named =
                self.path.hasPrefix(prefix) ? String(self.path.dropFirst(prefix.count).prefix { $0 != "?" }) : nil
            self.looksAt = request.method == .get ? named : nil
            self.ends = request.method == .delete ? named : nil
            self.decision = (object?["id"]?.string).map { Decision(operationID: $0, isApproval: isApproval) }
        }
    }

    /// A committed change.
    struct Commit {
        let node: String
        let moves: UInt64
        var fence: Int64?
        var epoch = Database.Epoch()
        var time: Int64 = 0
        /// The number of times that the activation's row had gone back before it.
        var returns = 0
        /// The decision about to be signed.
        var intent: DecisionReceipt.Intent?
        /// The time after which its request can no longer arrive, by its receipt.
        var arrivesBy: Int64?
    }
}
