import HTTPClientTransport
import TestSupport
import Testing

import PowerAuth

extension VerifyingServer {
    /// Catches an approval on its way, and flips each bit of its body: all of these are refused without changing anything, so
    /// that the genuine one is accepted afterwards, once.
    func refuseEveryFlippedBit(ofAnApprovalBy activation: Activation) async throws {
        let caught = Shared<HTTPRequest?>(nil)
        self.setFate { request in
            guard request.url.hasSuffix("/api/signed") else { return .delivered }
            caught.value = request
            return .requestLost
        }
        _ = try? await activation.approve("genuine")
        self.setFate { _ in .delivered }
        let genuine = try #require(caught.value)
        let body = try #require(genuine.body)
        #expect(!body.isEmpty)
        for bit in 0..<body.count * 8 {
            var changed = body
            changed[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(try await self.send(altered(genuine) { $0.body = changed }).status != 200, "bit \(bit)")
        }
        #expect(self.state.value.accepted.isEmpty)
        #expect(try await self.send(genuine).status == 200)
        #expect(try await self.send(genuine).status == 401)
        #expect(self.state.value.accepted == ["genuine"])
    }
}
