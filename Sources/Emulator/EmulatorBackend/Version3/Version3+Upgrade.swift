import APIDescriptions
import EmulatorMessages
import PowerAuthProtocol

extension Version3 {
    /// The calls for upgrading version 2 activations to version 3. Since there are none, every request is eventually refused.
    enum Upgrade {
        static let routes: [Backend.Route] = [
            .device(
                "POST /pa/v3/upgrade/start",
                "Refuses the upgrade from version 2, of which there are no activations.",
                takes: .required(.envelope3),
                Self.start
            ),
            .device(
                "POST /pa/v3/upgrade/commit",
                "Refuses the upgrade from version 2, once the code is right.",
                shows: .code,
                takes: .ignored,
                Self.commit
            ),
        ]

        private static let nothingToUpgrade = Refusal.upgrade("there are no activations of version 2")

        private static func start(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
            -> ServerResponse
        {
            _ = try ReceivedEnvelope(context.json())
            throw Self.nothingToUpgrade
        }

        private static func commit(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
            -> ServerResponse
        {
            guard context.request.header(RequestCode.headerName) != nil else {
                throw .unreadable("the header \(RequestCode.headerName) is missing")
            }
            do { _ = try bank.requestCode(of: &context) } catch { throw .upgrade(error.reason) }
            // An empty body stands for the call's own one.
            let cover = SignedPayload(plaintext: context.request.body.isEmpty ? Array("{}".utf8) : nil)
            let demand = SignaturePolicy(uriID: "/pa/upgrade/commit", types: [.possession], version: .version3)
            _ = try bank.authenticate(&context, demand, covering: cover)
            throw Self.nothingToUpgrade
        }
    }
}
