import ExactJSON
import Foundation
import PowerAuthProtocol

// A device that is gone is replaced by another one, with its recovery code and PUK.

extension CoreCase {
    /// The recovery code of an activation, and its PUK.
    private struct Recovery {
        let code: String
        let puk: String

        init(code: String, puk: String) { (self.code, self.puk) = (code, puk) }

        init?(_ exchange: RecordedExchange) {
            let recovery = exchange.content?["inner"]?["activationRecovery"]
            guard let code = recovery?["recoveryCode"]?.string, let puk = recovery?["puk"]?.string else { return nil }
            (self.code, self.puk) = (code, puk)
        }

        /// Fills the placeholders of a recorded value, which may have the code in another form.
        func filling(_ value: JSONValue, hasWrongPUK: Bool = false) -> JSONValue {
            value.mapping { value in
                switch value {
                case "<code>": .string(self.code)
                case "<puk>": .string(hasWrongPUK ? "0000000000" : self.puk)
                case .string(let string) where string.hasPrefix("R:"): .string("R:" + self.code)
                case .string(let string) where string.wholeMatch(of: #/[a-z2-7]{5}(-[a-z2-7]{5}){3}/#) != nil:
                    .string(self.code.lowercased())
                default: value
                }
            }
        }
    }

    func performRecovery() throws {
        var own = try self.deviceWithRecovery()
        if self.name.hasSuffix(" unknown") { own = Recovery(code: "AAAAA-AAAAA-AAAAA-AAAAA", puk: own.puk) }
        if self.name.hasSuffix("removed by the bank") { try self.server.remove(self.device.id) }
        if self.name.contains("blocked") { throw NotPerformed(reason: "a block in between") }
        let other = self.name.hasSuffix("of another user") ? try self.deviceWithRecovery(isOther: true) : own
        var (successor, latest, made) = (RecordedDevice?.none, own, JSONValue.null)
        for step in self.steps {
            let request = step["request"] ?? .null
            let (path, what) = (request["path"]?.string ?? "", request["what"]?.string ?? "")
            switch path {
            case "/pa/v3/activation/create":
                if what == "after the commit" { try self.server.commit(self.device.id) }
                let source = what == "by the new code" ? latest : own
                let new = try RecordedDevice(self.server, version: self.device.version)
                if let recovery = try self.replace(by: new, source, request, hasWrongPUK: what == "wrong PUK") {
                    latest = recovery
                }
                if new.keys != nil, successor == nil { (successor, made) = (new, self.state(ofActivation: new.id)) }
            case "/pa/v3/recovery/confirm":
                var call = self.call(of: request, what)
                call.isWrong = self.name.contains("wrong code")
                let content = other.filling(request["body"] ?? .null).serialized()
                try self.device.sealed(path, content, call)
            case "/pa/v3/signature/validate":
                let signer = what == "the new device" ? successor ?? self.device : self.device
                let exchange = try signer.validate()
                if signer !== self.device { self.device.log.append(exchange) }
            case "/pa/v3/activation/remove": try self.device.signed(path)
            case "/pa/v3/activation/status": self.device.status()
            default: throw NotPerformed(reason: "the path \(path)")
            }
        }
        self.noteRecovery(own, latest, made, isAnother: successor?.id != self.device.id)
    }

    /// Activates, and leaves the activation to the case unless it is another user's.
    private func deviceWithRecovery(isOther: Bool = false) throws -> Recovery {
        let first = self.device
        if isOther { self.device = try RecordedDevice(self.server) }
        self.device.version = self.setupVersion
        try self.register(["commitPhase": self.state == "PENDING_COMMIT" ? "ON_COMMIT" : "ON_KEY_EXCHANGE"])
        let exchange = try self.device.activate(self.device.activation())
        self.device.log = []
        if isOther { self.device = first }
        guard let recovery = Recovery(exchange) else { throw NotPerformed(reason: "there is no recovery code") }
        return recovery
    }

    private func replace(by new: RecordedDevice, _ source: Recovery, _ request: JSONValue, hasWrongPUK: Bool) throws
        -> Recovery?
    {
        var activation = new.activation()
        let key = activation.inner["devicePublicKey"]
        activation.outer = source.filling(request["body"]?["outer"] ?? [:], hasWrongPUK: hasWrongPUK).object ?? [:]
        activation.inner = request["body"]?["inner"]?.object ?? [:]
        if activation.inner["devicePublicKey"] != nil { activation.inner["devicePublicKey"] = key }
        let exchange = try new.activate(activation)
        self.device.log += new.log
        return Recovery(exchange)
    }

    private func noteRecovery(_ own: Recovery, _ latest: Recovery, _ new: JSONValue, isAnother: Bool) {
        if self.name.hasPrefix("recovery: the code of an activation") {
            let isCode = (try? ActivationCode(parsing: own.code)) != nil
            let isNumber = own.puk.utf8.allSatisfy { (0x30...0x39).contains($0) }
            self.notes = [.bool(isCode), .number(JSONNumber(own.puk.utf8.count)), .bool(isNumber)]
        } else if self.name.hasPrefix("recovery: a new activation") {
            self.notes = [new, .bool(isAnother)]
        } else if self.name.hasPrefix("recovery: second activation") {
            self.notes = [true, .bool(latest.code != own.code)]
        } else if self.name.hasPrefix("recovery attributes") || self.name.hasPrefix("recovery with") {
            self.notes = new
        }
    }
}
