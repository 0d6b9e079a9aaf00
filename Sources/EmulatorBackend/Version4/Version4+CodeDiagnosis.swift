import PowerAuthCrypto
import PowerAuthProtocol

extension Version4 {
    /// The reason why a code is wrong, for the reader of the journal: which counters and keys were tried, and which factor's
    /// component did not match.
    struct CodeDiagnosis {
        private let keys: ServerFactorKeys
        private let counter: HashCounter

        init(keys: ServerFactorKeys, counter: HashCounter) {
            self.keys = keys
            self.counter = counter
        }

        /// How far beyond the look-ahead a lost client is looked for.
        private static let searchedBeyond = 64

        /// The candidate that comes closest to the code.
        private struct Candidate {
            let offset: Int
            let keyName: String
            /// Whether the component of each factor is right.
            let isRight: [Bool]

            var rightCount: Int { self.isRight.count { $0 } }
        }

        /// Returns the reason in words.
        func reason(why code: CodeToVerify, of type: AuthenticationCodeType, lookAhead: Int) -> String {
            let candidates = self.candidates(for: code, of: type, count: lookAhead + Self.searchedBeyond)
            let keyNames = self.factorKeys(for: type).map(\.name).joined(separator: " and ")
            let tried = "the counters 0 to \(lookAhead - 1) steps ahead were tried with the \(keyNames)"
            guard let best = candidates.max(by: { $0.rightCount < $1.rightCount }), best.rightCount > 0 else {
                return "the code is wrong: \(tried), and no component matches"
            }
            guard best.rightCount < type.factors.count else {
                return "the code is wrong: it is \(best.offset) steps ahead, and the server looks \(lookAhead) far"
            }
            let names = zip(type.factors, best.isRight).map { "\($0.rawValue) \($1 ? "matches" : "does not match")" }
            let place = "\(best.offset) steps ahead with the \(best.keyName), \(names.joined(separator: ", "))"
            return "the code is wrong: \(tried); \(place)"
        }

        /// The keys that may have made the code, beside that of possession.
        private func factorKeys(for type: AuthenticationCodeType) -> [(name: String, keys: [SecretBytes])] {
            let factor: ReplaceableKey
            switch type {
            case .possession: return [("current key", [self.keys.possession])]
            case .possessionKnowledge: factor = self.keys.knowledge
            case .possessionBiometry: factor = self.keys.biometry
            }
            return [("current key", factor.current), ("pending key", factor.pending)].compactMap { name, key in
                key.map { (name, [self.keys.possession, $0]) }
            }
        }

        /// Every candidate in the order in which they are tried, with the components that are right.
        private func candidates(
            for code: CodeToVerify,
            of type: AuthenticationCodeType,
            count: Int
        ) -> [Candidate] {
            var counter = self.counter
            var candidates: [Candidate] = []
            for offset in 0..<count {
                for (name, keys) in self.factorKeys(for: type) {
                    guard let isRight = try? Self.compare(code, keys: keys, counter: counter) else { continue }
                    candidates.append(Candidate(offset: offset, keyName: name, isRight: isRight))
                }
                counter = counter.next()
            }
            return candidates
        }

        private static func compare(
            _ code: CodeToVerify,
            keys: [SecretBytes],
            counter: HashCounter
        ) throws(CryptoError) -> [Bool] {
            switch code.form {
            case .online(let bytes, let secret):
                let expected = try AuthenticationCode(
                    code.data,
                    keys: keys,
                    counter: counter,
                    secret: .online(secret)
                ).onlineBytes
                let length = AuthenticationCode.componentByteCount
                return stride(from: 0, to: expected.count, by: length).map { start in
                    bytes.dropFirst(start).prefix(length).elementsEqual(expected[start..<(start + length)])
                }
            case .offline(let digits):
                let expected = try AuthenticationCode(code.data, keys: keys, counter: counter, secret: .offline)
                    .offline().utf8.split(separator: UInt8(ascii: "-"))
                let shown = digits.utf8.split(separator: UInt8(ascii: "-"))
                return expected.indices.map { shown.indices.contains($0) && shown[$0].elementsEqual(expected[$0]) }
            }
        }
    }
}
