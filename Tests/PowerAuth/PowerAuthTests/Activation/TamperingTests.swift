import Basics
import ExactJSON
import Foundation
import HTTPClientTransport
import Testing
import TestSupport

import PowerAuth

/// One bit flipped anywhere on the way: the receiver refuses by name, and nothing changes.
@Suite(.timeLimit(.minutes(5))) struct TamperingTests {
    /// Every bit of the first bytes, and a sample of those that follow.
    private static func positions(of byteCount: Int, isExhaustive: Bool) -> [Int] {
        let count = byteCount * 8
        let first = isExhaustive ? Array(0..<min(count, 256 * 8)) : []
        return first + stride(from: first.count, to: count, by: 67)
    }

    private static func flipped(_ bytes: [UInt8], _ bit: Int) -> [UInt8] {
        var bytes = bytes
        bytes[bit / 8] ^= 1 << UInt8(bit % 8)
        return bytes
    }

    /// The answers that carry proof of where they come from. Whitespace, names of members that nobody reads and the envelope
    /// around the proof may change without harm; then the result must be the same as without the change.
    @Test(arguments: [
        ("/pa/v3/user/info", ProtocolVersion.v3_3), ("/pa/v3/user/info", .v3_2), ("/pa/v3/user/info", .v3_1),
        ("/pa/v3/token/create", .v3_3), ("/pa/v3/vault/unlock", .v3_3), ("/pa/v3/keystore/create", .v3_3),
        ("/pa/v4/activation/status", .v4_0), ("/pa/v4/token/create", .v4_0), ("/pa/v4/vault/unlock", .v4_0),
        ("/pa/v4/keystore/create", .v4_0), ("/pa/v4/password/change", .v4_0),
    ])
    func aFlippedBitInAResponseIsRefusedOrChangesNothing(path: String, version: ProtocolVersion) async throws {
        // A clock that stands still, for what the server says of a user holds the time.
        let now = Date()
        let fixture = try Fixture(version: version, server: VerifyingServer(now: { now }))
        let activation = try await fixture.activate()
        let factor = try await activation.unlockKnowledge(password: Fixture.secret)
        let (server, store) = (fixture.server, fixture.store)

        func call() async throws -> String {
            switch path.dropFirst("/pa/v3".utf8.count) {
            case "/activation/status":
                let status = try await activation.status()
                return "\(status.state) \(status.flags) \(status.failedAttempts)"
            case "/user/info": return try await activation.userInfo()["sub"]?.string ?? ""
            case "/token/create":
                try await activation.removeTokenLocally("t")
                try await activation.requestToken("t")
                let token = try #require(try await activation.storedRecord().tokens["t"])
                #expect(server.tokenSecret(token.id) == token.secret)
                return "token"
            case "/vault/unlock":
                let key = try await activation.deriveDataKey(index: 1, with: .possessionAndKnowledge(unlocked: factor))
                return key.withUnsafeBytes { Array($0) }.description
            case "/password/change":
                try await activation.changePassword(from: Fixture.secret, to: Fixture.secret)
                return "changed"
            default:
                // A new client has no key yet.
                let client = try Fixture(version: version, server: server, store: store).client
                return try await client.activation(id: activation.activationID).userInfo()["sub"]?.string ?? ""
            }
        }

        let expected = try await call()
        let bit = Shared<Int?>(nil)
        let byteCount = Shared(0)
        server.setRewrite { request, response in
            guard request.url.hasSuffix(path), response.status == 200, let flipped = bit.value else { return response }
            byteCount.value = response.body.count
            return altered(response) { $0.body = Self.flipped(response.body, flipped % (response.body.count * 8)) }
        }
        bit.value = 0
        _ = try? await call()
        var refusals = 0
        for position in Self.positions(of: byteCount.value, isExhaustive: path.hasSuffix("/status")) {
            bit.value = position
            do {
                let result = try await call()
                #expect(result == expected, "bit \(position)")
            } catch let error as MobileTokenError {
                #expect(error.code == .invalidResponse, "bit \(position): \(error)")
                refusals += 1
            }
        }
        #expect(refusals > 10)
        bit.value = nil
        #expect(try await call() == expected)
        // The refused calls changed nothing: the password is the old one, and the counters agree.
        try await activation.approve("a", with: Fixture.twoFactors)
        #expect(try await activation.status().failedAttempts == 0)
        #expect(try await activation.status().counter.distance == 0)
    }

    @Test(arguments: ProtocolVersion.allCases) func aFlippedBitInARequestIsRefused(version: ProtocolVersion)
        async throws
    {
        let (fixture, activation) = try await Fixture(version: version).activated
        try await fixture.server.refuseEveryFlippedBit(ofAnApprovalBy: activation)
    }

    @Test(arguments: AlgorithmSuite.available)
    func aFlippedBitInTheCreationOfAnActivationIsRefused(suite: AlgorithmSuite) async throws {
        let fixture = try Fixture(suite: suite, version: .v4_0)
        _ = try await fixture.activate()
        let bit = Shared(0)
        fixture.server.setRewrite { request, response in
            guard request.url.hasSuffix("/activation/create"), response.status == 200 else { return response }
            return altered(response) { $0.body = Self.flipped(response.body, bit.value % (response.body.count * 8)) }
        }
        var refusals = 0
        for index in 0..<24 {
            bit.value = index * 997 + index
            do {
                try await fixture.activate().approve("\(index)")
            } catch let error as MobileTokenError {
                #expect(error.code == .invalidResponse, "bit \(bit.value): \(error)")
                refusals += 1
            }
        }
        #expect(refusals > 10)
        // Only what was not refused is kept.
        #expect(try await fixture.client.activationIDs().count == 25 - refusals)
    }
}
