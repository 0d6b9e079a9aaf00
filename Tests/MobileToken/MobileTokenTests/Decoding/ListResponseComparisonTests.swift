import ExactJSON
import Foundation
import MobileToken
import MobileTokenTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct ListResponseComparisonTests {
    private func comparison(_ answer: String) throws -> ListResponseComparison {
        try OperationList.read([UInt8](answer)).1
    }

    private static let first = "2023-02-10T12:30:42+0000"
    private static let later = Date(timeIntervalSince1970: 1_676_032_249)

    @Test(arguments: [
        #"{"status":"OK","currentTimestamp":"TIME","responseObject":[]}"#,
        #"{"status":"OK","responseObject":[],"currentTimestamp":"TIME"}"#,
        #"{"currentTimestamp" : "TIME" , "status":"OK","responseObject":[{"id":"1"}]}"#,
        #"{"status":"OK","responseObject":[],"current\u0054imestamp":"TIME"}"#,
    ])
    func onlyTheTimeMayDiffer(answer: String) throws {
        let comparison = try self.comparison(answer.replacing("TIME", with: Self.first))
        for time in ["2023-02-10T12:30:49+0000", "2023-02-10T12:30:49Z", "2023-02-10T12:30:49.000+00:00"] {
            #expect(comparison.match([UInt8](answer.replacing("TIME", with: time)))?.currentTimestamp == Self.later)
        }
        #expect(comparison.match([UInt8](answer.replacing("TIME", with: "soon"))) == .init(currentTimestamp: nil))
        #expect(
            comparison.match([UInt8](answer.replacing(#""TIME""#, with: "1676032249"))) == .init(currentTimestamp: nil)
        )
        #expect(comparison.match([UInt8](answer.replacing("TIME", with: Self.first))) != nil)
        #expect(
            comparison.match([UInt8](answer.replacing("OK", with: "KO").replacing("TIME", with: Self.first))) == nil
        )
    }

    @Test func aNestedOrQuotedTimeIsContent() throws {
        for answer in [
            #"{"status":"OK","responseObject":[{"currentTimestamp":"TIME"}]}"#,
            #"{"status":"OK","responseObject":["\"currentTimestamp\":\"TIME\""]}"#,
            #"{"status":"OK","responseObject":[{"currentTimestamp":"TIME"}],"currentTimestamp":"2023-02-10T12:30:42+0000"}"#,
        ] {
            let comparison = try self.comparison(answer.replacing("TIME", with: Self.first))
            #expect(comparison.match([UInt8](answer.replacing("TIME", with: Self.first))) != nil)
            #expect(comparison.match([UInt8](answer.replacing("TIME", with: "2023-02-10T12:30:49+0000"))) == nil)
        }
    }

    @Test func withoutOneTimeOnlyTheSameBytesMatch() throws {
        for answer in [
            #"{"status":"OK","responseObject":[]}"#,
            #"{"status":"OK","responseObject":[],"currentTimestamp":"a","currentTimestamp":"b"}"#,
        ] {
            let comparison = try self.comparison(answer)
            #expect(comparison.match([UInt8](answer)) == .init(currentTimestamp: nil))
            #expect(comparison.match([UInt8](answer.replacing(#""b""#, with: #""c""#) + " ")) == nil)
            #expect(comparison.match([UInt8](answer.replacing(#""a""#, with: #""c""#) + " ")) == nil)
        }
    }

    @Test(arguments: [
        // Another member before, behind, or hidden in the value.
        #"{"status":"OK","currentTimestamp":"x","responseObject":[1]}"#,
        #"{"status":"OK","currentTimestamp":"x","y":1,"responseObject":[]}"#,
        #"{"status":"OK","currentTimestamp":"x\",\"responseObject\":[],"responseObject":[]}"#,
        #"{"status":"OK","currentTimestamp":"x"#,
        #"{"status":"OK","currentTimestamp":"x","responseObject":[]"#,
        #"{"status":"OK","currentTimestamp":"x","responseObject":[]}}"#,
        #"{"status":"OK","currentTimestamp":"x" ,"responseObject":[]}"#,
        #"{"status":"OK","currentTimestamp": "x","responseObject":[]}"#,
        #"{"status":"OK","currentTimestamp":{"a":"x"},"responseObject":[]}"#,
        #"{"status":"OK","currentTimestamp":x,"responseObject":[]}"#,
        #"{"status":"OK","currentTimestamp":,"responseObject":[]}"#,
        #"{"status":"OK","responseObject":[]}"#,
        "",
        "{",
        #"{"status":"OK","currentTimestamp":"#,
        #"{"status":"OK","currentTimestamp":""#,
    ])
    func whateverIsInDoubtIsAChange(answer: String) throws {
        let comparison = try self.comparison(#"{"status":"OK","currentTimestamp":"2023","responseObject":[]}"#)
        #expect(comparison.match([UInt8](answer)) == nil)
    }

    @Test func aValueThatEndsLikeTheNextIsNotMistaken() throws {
        let comparison = try self.comparison(#"{"status":"OK","responseObject":[],"currentTimestamp":12}"#)
        #expect(comparison.match([UInt8](#"{"status":"OK","responseObject":[],"currentTimestamp":123}"#)) != nil)
        #expect(comparison.match([UInt8](#"{"status":"OK","responseObject":[],"currentTimestamp":1.}"#)) == nil)
        #expect(comparison.match([UInt8](#"{"status":"OK","responseObject":[],"currentTimestamp":12}}"#)) == nil)
    }

    @Test(arguments: [#""é""#, #""a\nb""#, "null", "{}", "[1]", "true"])
    func aValueInAnUnusualFormMatchesOnlyItself(value: String) throws {
        let answer = #"{"status":"OK","currentTimestamp":\#(value),"responseObject":[]}"#
        let comparison = try self.comparison(answer)
        #expect(comparison.match([UInt8](answer)) != nil)
        #expect(comparison.match([UInt8](answer.replacing(value, with: "[2]"))) == nil)
    }

    /// Compared with what decoding says: a match is never of two different lists.
    @Test func mutatedAnswersNeverMatchADifferentList() throws {
        var random = SeededGenerator()
        let text =
            #"{"status":"OK","currentTimestamp":"2023-02-10T12:30:42Z","responseObject":[{"id":"1","a":"currentTimestamp"}]}"#
        let good = [UInt8](text)
        let comparison = try OperationList.read(good).1
        let list = try JSONValue(parsing: good)["responseObject"]
        var matches = 0
        for _ in 0..<10_000 {
            var answer = good
            for _ in 0...Int.random(in: 0...2, using: &random) {
                let index = Int.random(in: 0..<answer.count, using: &random)
                switch Int.random(in: 0...2, using: &random) {
                case 0: answer[index] = UInt8.random(in: 0x20...0x7E, using: &random)
                case 1: answer.remove(at: index)
                default: answer.insert(UInt8(ascii: "\""), at: index)
                }
            }
            guard comparison.match(answer) != nil else { continue }
            matches += 1
            let value = try JSONValue(parsing: answer)
            #expect(value["status"] == "OK" && value["responseObject"] == list && value.object?.members.count == 3)
        }
        #expect(matches > 0)
    }
}
