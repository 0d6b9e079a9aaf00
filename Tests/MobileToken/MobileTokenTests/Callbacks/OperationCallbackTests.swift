import MobileToken
import MobileTokenNotifications
import Testing
import WireFacts

@Suite struct OperationCallbackTests {
    private func read(_ json: String) -> OperationCallback? { OperationCallback(parsing: Array(json.utf8)) }

    @Test func aCallbackIsRead() throws {
        let whole = try #require(
            self.read(#"{"type":"OPERATION","operationId":"o","userId":"u","status":"PENDING","data":["any",{}]}"#)
        )
        #expect(whole.operationID == "o" && whole.userID == "u" && whole.status == .pending)
        let least = try #require(self.read(#"{"operationId":"o","type":"OPERATION","userId":null}"#))
        #expect(least.operationID == "o" && least.userID == nil && least.status == nil)
        #expect(self.read(#"{"type":"OPERATION","operationId":"o","status":"NEW"}"#)?.status == .unknown("NEW"))
        #expect(self.read(#"{"type":"OPERATION","operationId":"o","other":"\udc00"}"#)?.operationID == "o")
        let longest = String(repeating: "x", count: 255)
        #expect(self.read(#"{"type":"OPERATION","operationId":"\#(longest)"}"#)?.operationID == longest)
    }

    /// Documentation has the word of the configuration for that of the body.
    @Test(.wireFact("A8"), arguments: ["OPERATION", "OPERATION_STATUS_CHANGE"])
    func bothWordsForAnOperationAreRead(type: String) {
        #expect(self.read(#"{"type":"\#(type)","operationId":"o"}"#)?.operationID == "o")
    }

    @Test(arguments: [
        "", "nothing", "[]", "{}", "null", #"{"operationId":"o"}"#, #"{"type":"OPERATION"}"#,
        #"{"type":"ACTIVATION","operationId":"o"}"#, #"{"type":"operation","operationId":"o"}"#,
        #"{"type":"OPERATION\u0301","operationId":"o"}"#, #"{"type":5,"operationId":"o"}"#,
        #"{"type":"OPERATION","operationId":""}"#, #"{"type":"OPERATION","operationId":5}"#,
        #"{"type":"OPERATION","operationId":null}"#, #"{"type":"OPERATION","operationId":"o","operationId":"p"}"#,
        #"{"type":"OPERATION","type":"OPERATION","operationId":"o"}"#,
        #"{"type":"OPERATION","operationId":"o","status":5}"#, #"{"type":"OPERATION","operationId":"o","userId":[]}"#,
        #"{"type":"OPERATION","operationId":"o","status":"PENDING","status":"PENDING"}"#,
        #"{"type":"OPERATION","operationId":"\ud800"}"#, #"{"type":"OPERATION","operationId":"o"} x"#,
    ])
    func whatIsNoneIsNil(json: String) {
        #expect(self.read(json) == nil)
    }

    @Test func whatIsTooLongIsNil() {
        #expect(self.read(#"{"type":"OPERATION","operationId":"\#(String(repeating: "x", count: 256))"}"#) == nil)
        let padding = String(repeating: " ", count: 256 << 10)
        #expect(self.read(#"{"type":"OPERATION","operationId":"o"}"# + padding) == nil)
        let depth = String(repeating: "[", count: 65) + String(repeating: "]", count: 65)
        #expect(self.read(#"{"type":"OPERATION","operationId":"o","data":\#(depth)}"#) == nil)
        #expect(OperationCallback(parsing: [0xFF, 0xFE]) == nil)
    }
}
