import Foundation
import HTTPClientTransport
import Testing
import WireFacts

import PowerAuth

@Suite struct ResponseEnvelopeTests {
    private let now = Date(timeIntervalSince1970: 784_111_777)  // Sun, 06 Nov 1994 08:49:37 GMT

    private func failure(_ status: Int, _ body: String, headers: HTTPHeaders = [:]) -> MobileTokenError? {
        let response = HTTPResponse(status: status, headers: headers, body: Array(body.utf8))
        do {
            _ = try ResponseEnvelope.body(of: response, to: "/api/signed", now: self.now)
            return nil
        } catch {
            return error
        }
    }

    @Test func aSuccessIsHandedOnUntouched() throws {
        let body = Array(#"{"status":"OK","responseObject":[1,2]}"#.utf8)
        #expect(
            try ResponseEnvelope.body(of: HTTPResponse(status: 200, body: body), to: "/api/signed", now: self.now)
                == body
        )
    }

    @Test(arguments: ["POWERAUTH_AUTH_FAIL", "ERR_AUTHENTICATION"])
    func bothNamesOfAFailedAuthenticationAreOneCode(name: String) {
        let error = self.failure(401, #"{"status":"ERROR","responseObject":{"code":"\#(name)","message":"No"}}"#)
        #expect(error?.code == .authenticationFailed)
        #expect(error?.serverCode == name)
        #expect(error?.httpStatus == 401)
        #expect(error?.message == "No")
    }

    @Test(
        .wireFact("A6", "4.1"),
        arguments: [
            ("ERR_PASSWORD_CHANGE", MobileTokenError.Code.passwordChangeFailed),
            ("ERR_BIOMETRY", .biometryChangeFailed),
            ("ERR_USER_INFO", .userInfoFailed), ("ERR_STATUS", .serverStatusFailed),
            ("ERR_CONFIG", .serverConfigurationFailed),
            ("APPLICATION_CONFIGURATION_ERROR", .serverConfigurationFailed),
            ("ACTIVATION_CODE_FAILED", .activationCodeFailed),
        ]
    )
    func codesOfServersHaveNamesOfTheirOwn(name: String, code: MobileTokenError.Code) {
        let error = self.failure(400, #"{"status":"ERROR","responseObject":{"code":"\#(name)","message":"No"}}"#)
        #expect(error?.code == code)
        #expect(error?.serverCode == name)
        #expect(error?.isPassing == false && error?.failureKind == .refused)
    }

    /// The server that was asked does not know what the one behind it has done.
    @Test(.wireFact("A6", "4.3")) func aSilentServerBehindIsAskedAgainAndMayHaveDoneIt() {
        let body = #"{"status":"ERROR","responseObject":{"code":"REMOTE_COMMUNICATION_ERROR","message":"No"}}"#
        let error = self.failure(409, body)
        #expect(error?.code == .remoteCommunicationFailed)
        #expect(error?.isPassing == true && error?.failureKind == .unknown)
    }

    @Test(arguments: ["", "<html>", "{", "[]", "null", #"{"status":7}"#, #"{"status":"ERROR"}"#])
    func a401WithoutTheServersCodeIsThePageOfSomebodyElse(body: String) {
        let error = self.failure(401, body)
        #expect(error?.code == (body.contains("ERROR") ? .serverError : .httpStatus))
        #expect(error?.httpStatus == 401)
        #expect(error?.isPageOfAnother == true)
    }

    @Test func aCodeOutsideTheServersEnvelopeIsNotTheServersWord() {
        let error = self.failure(401, #"{"responseObject":{"code":"POWERAUTH_AUTH_FAIL","message":"m"}}"#)
        #expect(error?.serverCode == nil)
        #expect(error?.code == .httpStatus)
    }

    @Test func anErrorUnder200IsAnError() {
        for status in [200, 201] {
            let body = #"{"status":"ERROR","responseObject":{"code":"INVALID_REQUEST","message":"m"}}"#
            #expect(self.failure(status, body)?.code == .invalidRequest)
        }
        // However it is written, and whatever is said beside it.
        for body in [
            #"{"status":"ERROR","status":"OK"}"#, #"{"status":"\u0045RROR"}"#, #"{"st\u0061tus":"ERROR"}"#,
        ] { #expect(self.failure(200, body) != nil, "\(body)") }
        let behind = #"{"responseObject":{"code":"INVALID_REQUEST","message":"AN ERROR"}, "status" :"ERROR"}"#
        #expect(self.failure(200, behind)?.code == .invalidRequest)
    }

    @Test func theWordErrorElsewhereIsNotAnError() {
        #expect(self.failure(200, #"{"status":"OK","responseObject":{"name":"ERROR"}}"#) == nil)
        #expect(self.failure(200, #"{"responseObject":["ERROR"]}"#) == nil)
    }

    @Test func fromHTTP400OnItIsAnErrorWhateverTheBodySays() {
        #expect(self.failure(400, #"{"status":"OK","responseObject":{}}"#)?.code == .httpStatus)
        #expect(self.failure(503, "")?.code == .httpStatus)
        #expect(self.failure(302, "")?.code == .httpStatus)
    }

    @Test func anUnknownCodeKeepsCodeMessageAndStatus() {
        let error = self.failure(500, #"{"status":"ERROR","responseObject":{"code":"ERROR_GENERIC","message":"x"}}"#)
        #expect(error?.code == .serverError)
        #expect(error?.serverCode == "ERROR_GENERIC")
        #expect(error?.message == "x")
        #expect(error?.httpStatus == 500)
    }

    @Test(arguments: ["invalid_request", "INVALID_REQUEST ", "INVALID\u{FF3F}REQUEST"])
    func codesAreMatchedExactly(code: String) {
        let error = self.failure(400, #"{"status":"ERROR","responseObject":{"code":"\#(code)","message":"x"}}"#)
        #expect(error?.code == .serverError)
    }

    @Test(arguments: [#"{"code":5,"message":["x"]}"#, #"{"code":"A","code":"INVALID_REQUEST","message":"m"}"#])
    func membersOfTheWrongTypeOrGivenTwiceReadAsMissing(members: String) {
        let error = self.failure(400, #"{"status":"ERROR","responseObject":\#(members)}"#)
        #expect(error?.code == .serverError)
        #expect(error?.serverCode == nil)
    }

    @Test func retryAfterIsReadInBothForms() {
        #expect(self.failure(503, "", headers: ["retry-after": "120"])?.retryAfter == .seconds(120))
        let date = "Sun, 06 Nov 1994 08:51:37 GMT"
        #expect(self.failure(503, "", headers: ["Retry-After": date])?.retryAfter == .seconds(120))
    }

    @Test(arguments: [
        "", "-1", "1.5", "soon", "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37", "0x10", "+5",
    ])
    func aRetryAfterOfNeitherFormIsIgnored(text: String) {
        #expect(RetryAfter.duration(text, now: self.now) == nil)
    }

    @Test func aRetryAfterInThePastIsZeroAndAVeryLongOneIsADay() {
        #expect(RetryAfter.duration("Sun, 06 Nov 1994 08:00:00 GMT", now: self.now) == .zero)
        #expect(RetryAfter.duration("99999999999999999999999", now: self.now) == RetryAfter.longest)
        #expect(RetryAfter.duration("Sun, 06 Nov 2094 08:00:00 GMT", now: self.now) == RetryAfter.longest)
    }
}
