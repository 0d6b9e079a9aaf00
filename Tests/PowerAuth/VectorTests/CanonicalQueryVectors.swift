import PowerAuthProtocol
import Testing

/// The column `restIntegrationCanonicalQuery` is not compared: that server decodes the query twice, so that
/// `a=1%262` and `a=1&2` would be signed alike. One decoding is the documented rule.
@Suite(.enabled(if: VectorFile.exists("canonical-query")))
struct CanonicalQueryVectors {
    struct Input: Decodable {
        let queryString: String?
    }

    struct Output: Decodable {
        let canonicalQuery: String?
        let error: String?
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "canonical-query"))
    func canonicalForm(_ vector: Vector<Input, Output>) throws {
        guard vector.output.error == nil else {
            #expect(throws: CanonicalQuery.Malformed()) { try CanonicalQuery.string(of: vector.input.queryString) }
            return
        }
        // No canonical query at all and an empty one sign the same: nothing.
        #expect(try CanonicalQuery.string(of: vector.input.queryString) == vector.output.canonicalQuery ?? "")
    }
}
