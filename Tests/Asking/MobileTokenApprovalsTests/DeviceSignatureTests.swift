import ApprovalTesting
import Foundation
import MobileTokenTesting
import TestSupport
import Testing

@testable import MobileTokenApprovals

/// Rule 12, where the server is not believed: only what a device has signed by itself counts.
@Suite(.timeLimit(.minutes(5))) struct DeviceSignatureTests {
    private static func publicKey(_ key: P256PrivateKey) throws -> DeviceKey.PublicKey {
        try DeviceKey.PublicKey(der: key.publicKey.publicKeyInfo())
    }

    private static func request(_ keys: [String: P256PrivateKey], from approvers: Approvers = .user("alice")) throws
        -> ApprovalRequest
    {
        var request = Bench.request(from: approvers)
        request.deviceKeys = try keys.mapValues { [try Self.publicKey($0)] }
        return request
    }

    /// Signs as a device does, by claims that a test may spoil.
    private static func sign(
        _ key: P256PrivateKey,
        _ claims: @escaping @Sendable (CloudClient.Operation) -> String = { #"{"operationData":"\#($0.data ?? "")"}"# }
    ) -> @Sendable (CloudClient.Operation) -> String? {
        { try? JSONWebSignature.compact(Array(claims($0).utf8), type: "JWT", signedBy: key.jwsSigner) }
    }

    @Test func whatADeviceSignedIsDone() async throws {
        let (bench, key) = (try await Bench(), P256PrivateKey.generate())
        bench.server.with { $0.script["alice"]?.signature = Self.sign(key) }
        let approval = try await bench.perform(try Self.request(["alice": key]))
        #expect(approval.approvals.map(\.evidence) == [.deviceSignature])
        #expect(bench.runs.count == 1)
        // Other keys are other terms.
        let other = P256PrivateKey.generate()
        #expect(await bench.code(of: try Self.request(["alice": other])) == .alreadyAsked)
    }

    /// The data need not be shown by the server: they are what the device signed.
    @Test func aServerThatHidesTheDataNeedsNoOtherWitness() async throws {
        let (bench, key) = (try await Bench(), P256PrivateKey.generate())
        bench.server.with {
            $0.script["alice"]?.signature = Self.sign(key)
            $0.lie = { $0.data = nil }
        }
        let approval = try await bench.perform(try Self.request(["alice": key]))
        #expect(approval.approvals.map(\.evidence) == [.deviceSignature])
        #expect(approval.approvals.first?.signedData?.hasPrefix("A9*Tbilling*N4.2.1*R") == true)
    }

    @Test(arguments: [false, true]) func aServerThatSaysSoWithoutASignatureIsNotBelieved(isDocumentedOnly: Bool)
        async throws
    {
        let (bench, key) = (try await Bench(isDocumentedOnly: isDocumentedOnly), P256PrivateKey.generate())
        let request = bench.readable(try Self.request(["alice": key]))
        #expect(await bench.code(of: request) == .cannotVerify)
        #expect(bench.runs.count == 0)
        #expect(try await bench.state() == .failed)
    }

    static let lies: [(name: String, claims: @Sendable (CloudClient.Operation) -> String)] = [
        ("other data", { #"{"operationData":"\#($0.data ?? "")*X1"}"# }),
        ("another question's data", { _ in #"{"operationData":"A9*Tbilling*N4.2.1*R0000"}"# }),
        ("no data", { _ in "{}" }),
        ("data twice", { #"{"operationData":"\#($0.data ?? "")","operationData":"\#($0.data ?? "")"}"# }),
        ("another type", { #"{"operationData":["\#($0.data ?? "")"]}"# }),
        ("no JSON", { $0.data ?? "" }),
    ]

    @Test(arguments: lies.indices) func aSignatureOfSomethingElseDoesNotCount(index: Int) async throws {
        let (bench, key) = (try await Bench(), P256PrivateKey.generate())
        bench.server.with { $0.script["alice"]?.signature = Self.sign(key, Self.lies[index].claims) }
        #expect(
            await bench.code(of: try Self.request(["alice": key])) == .deviceNotAccepted,
            "\(Self.lies[index].name)"
        )
        #expect(bench.runs.count == 0)
    }

    @Test func aSignatureByAnotherKeyDoesNotCount() async throws {
        let (bench, key) = (try await Bench(), P256PrivateKey.generate())
        bench.server.with { $0.script["alice"]?.signature = Self.sign(key) }
        #expect(await bench.code(of: try Self.request(["alice": .generate()])) == .deviceNotAccepted)
        #expect(bench.runs.count == 0)
    }

    /// The keys of one person are no keys of another, and who did not sign is made up for by others.
    @Test func enoughOthersMaySign() async throws {
        let bench = try await Bench()
        let keys = ["alice": P256PrivateKey.generate(), "bob": .generate(), "carol": .generate()]
        let bob = try #require(keys["bob"])
        bench.server.with {
            $0.script["alice"]?.signature = Self.sign(bob)
            $0.script["bob"]?.signature = Self.sign(bob)
            $0.script["carol"] = nil
        }
        let approvers = Approvers.any(1, of: ["alice", "bob", "carol"])
        let approval = try await bench.perform(try Self.request(keys, from: approvers))
        #expect(approval.approvals.map(\.person) == ["bob"])
    }

    // MARK: Callbacks

    private static let headers = [("Authorization", "Basic " + Data("server:secret".utf8).base64EncodedString())]

    private static func callback(_ signature: String?) -> [UInt8] {
        let data = signature.map { #","additionalData":{"mobileTokenData":{"deviceSignature":"\#($0)"}}"# } ?? ""
        return Array(#"{"type":"OPERATION","operationId":"op-1","status":"APPROVED"\#(data)}"#.utf8)
    }

    /// A server whose answers show what is documented, and whose callbacks tell more.
    private static func askedBench(_ key: P256PrivateKey) async throws -> (Bench, ApprovalRequest, ApprovalTicket) {
        let bench = try await Bench(isDocumentedOnly: true, isAnswered: false) { $0.callbackPassword = "secret" }
        let request = bench.readable(try Self.request(["alice": key]))
        return (bench, request, try await bench.desk.ask(request))
    }

    /// It may come before the answer or after it.
    @Test(arguments: [false, true]) func aCallbackMayBringTheSignature(isLate: Bool) async throws {
        let key = P256PrivateKey.generate()
        let (bench, request, ticket) = try await Self.askedBench(key)
        let operation = try #require(bench.server.operations.first)
        let signature = try #require(Self.sign(key)(operation))
        bench.server.with { $0.script["alice"] = .init() }
        if isLate {
            bench.clock.advance(by: .seconds(6))
            try await bench.desk.core.step(ticket.key)
            #expect(try await bench.state() == .open)
        }
        // A forged one beside it spoils nothing.
        #expect(bench.desk.receive(body: Self.callback("forged"), headers: Self.headers) == 200)
        #expect(bench.desk.receive(body: Self.callback(signature), headers: Self.headers) == 200)
        let approval = try await bench.perform(request)
        #expect(approval.approvals.map(\.evidence) == [.deviceSignature])
        #expect(bench.runs.count == 1)
    }

    /// It is evidence of the data, and not the decision.
    @Test(arguments: [CloudClient.OperationStatus.pending, .rejected, .canceled])
    func aSignatureInACallbackDecidesNothing(
        status: CloudClient.OperationStatus
    ) async throws {
        let key = P256PrivateKey.generate()
        let (bench, _, ticket) = try await Self.askedBench(key)
        let operation = try #require(bench.server.operations.first)
        let signature = try #require(Self.sign(key)(operation))
        #expect(bench.desk.receive(body: Self.callback(signature), headers: Self.headers) == 200)
        bench.server.update { $0.status = status }
        bench.clock.advance(by: .seconds(2))
        try await bench.desk.core.step(ticket.key)
        let states: [CloudClient.OperationStatus: ApprovalState] = [
            .pending: .open, .rejected: .rejected, .canceled: .canceled,
        ]
        #expect(try await bench.state() == states[status])
    }

    @Test(arguments: [nil, "forged"]) func withoutASignatureThatHoldsTheApprovalDoesNotCount(told: String?) async throws
    {
        let (bench, request, _) = try await Self.askedBench(.generate())
        bench.server.with { $0.script["alice"] = .init() }
        #expect(bench.desk.receive(body: Self.callback(told), headers: Self.headers) == 200)
        #expect(await bench.code(of: request) == (told == nil ? .cannotVerify : .deviceNotAccepted))
        #expect(bench.runs.count == 0)
        // Waited for, and not for ever.
        #expect(bench.server.elapsed <= (told == nil ? 125_000 : 10_000))
    }

    @Test func nobodyIsAskedWithoutAKeyWhereOthersHaveOne() async throws {
        let bench = try await Bench()
        let request = try Self.request(["alcie": .generate()])
        #expect(await bench.code(of: request) == .invalidRequest)
        // One device would sign for two.
        let shared = P256PrivateKey.generate()
        let both = try Self.request(["alice": shared, "bob": shared], from: .all(of: ["alice", "bob"]))
        #expect(await bench.code(of: both) == .invalidRequest)
        #expect(await bench.code(of: altered(Bench.request()) { $0.deviceKeys = ["alice": []] }) == .invalidRequest)
        #expect(bench.server.operations.isEmpty)
    }
}
