import ExactJSON
import MobileTokenTesting
import PowerAuthProtocol
import Testing

@Suite(.timeLimit(.minutes(1))) struct KnownObjectsTests {
    private func document(_ text: String, known: [String], depth: Int = 1) throws -> JSONDocument {
        try JSONDocument(
            parsing: Array(text.utf8),
            known: KnownObjects(known.map { Array($0.utf8) }, depth: depth)
        )
    }

    private func found(_ text: String, known: String..., depth: Int = 1) throws -> [Int?] {
        try self.document(text, known: known, depth: depth).root.elements.map(\.knownObject)
    }

    @Test func recognisesObjectsThatComeAgain() throws {
        #expect(try self.found(#"[{"a":1},{"b":2}]"#, known: #"{"a":1}"#, #"{"b":2}"#) == [0, 1])
        #expect(try self.found(#"[ {"b":2} ,{"c":3}]"#, known: #"{"a":1}"#, #"{"b":2}"#) == [1, nil])
        #expect(try self.found(#"[{"c":3},{"a":1}]"#, known: #"{"a":1}"#) == [nil, 0])
        let view = try #require(Array(self.document(#"[{"a":1}]"#, known: [#"{"a":1}"#]).root.elements).first)
        #expect(Array(view.bytes) == Array(#"{"a":1}"#.utf8))
        #expect(!view.isObject && view["a"] == nil)
    }

    @Test func takesNothingElseForThem() throws {
        #expect(try self.found(#"[{"a":12},{"a": 1},{"a":1 }]"#, known: #"{"a":1}"#) == [nil, nil, nil])
        #expect(try self.found(#"["{\"a\":1}"]"#, known: #"{"a":1}"#) == [nil])
        #expect(try self.found(#"[{"a":1}]"#, known: #"{"a":1}"#, depth: 2) == [nil])
        #expect(try self.found(#"[{"x":{"a":1}}]"#, known: #"{"a":1}"#, depth: 1) == [nil])
    }

    @Test(arguments: [
        #"[{"a":1}"#, #"[{"a":1}}"#, #"[{"a":1}{"a":1}]"#, #"[{"a":1},]"#, #"[{"a":1}x]"#, #"[,{"a":1}]"#, #"[{"a":1"#,
    ])
    func whatIsAroundThemIsChecked(text: String) {
        #expect(throws: JSONError.self) { try self.document(text, known: [#"{"a":1}"#]) }
    }

    /// With and without known objects, the same documents are valid and mean the same.
    @Test func changesNothingButTheWork() throws {
        var random = SeededGenerator()
        var recognised = 0
        for _ in 0..<3000 {
            let objects = (0..<Int.random(in: 0...6, using: &random)).map { number in
                #"{"id":\#(number),"v":["\#(Int.random(in: 0...9, using: &random))",{}]}"#
            }
            var next = objects
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                let index = Int.random(in: 0...next.count, using: &random)
                switch Int.random(in: 0...2, using: &random) {
                case 0: next.insert(#"{"id":"new","v":null}"#, at: index)
                case 1 where index < next.count: next.remove(at: index)
                default: next.shuffle(using: &random)
                }
            }
            var text = Array("[\(next.joined(separator: Bool.random(using: &random) ? "," : " , "))]".utf8)
            if Bool.random(using: &random) {
                let index = Int.random(in: 0..<text.count, using: &random)
                text[index] = [0x22, 0x2C, 0x5B, 0x5D, 0x7B, 0x7D, 0x30].randomElement(using: &random) ?? 0x20
            }
            let known = objects.map { Array($0.utf8) }
            let plain = try? JSONDocument(parsing: text)
            let knowing = try? JSONDocument(parsing: text, known: KnownObjects(known, depth: 1))
            #expect((plain == nil) == (knowing == nil))
            guard let plain, let knowing else { continue }
            #expect(plain.root.elements.map { Array($0.bytes) } == knowing.root.elements.map { Array($0.bytes) })
            for element in knowing.root.elements {
                guard let index = element.knownObject else { continue }
                recognised += 1
                #expect(known[index] == Array(element.bytes))
            }
        }
        #expect(recognised > 1000)
    }
}
