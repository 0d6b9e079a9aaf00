import ExactJSON
import Foundation
import MobileToken
import MobileTokenScreens
import TestSupport
import Testing

/// The records of the screens before an approval, and the part of them that is sent.
@Suite struct PreApprovalRecorderTests {
    private let now = Shared(Date(timeIntervalSince1970: 1_800_000_000))

    private func recorder() -> MobileTokenData.PreApprovalRecorder {
        MobileTokenData.PreApprovalRecorder { [now] in
            defer { now.value += 1 }
            return now.value
        }
    }

    @Test func eachVisitHasItsTimesAndItsAction() {
        var recorder = self.recorder()
        recorder.open("warning")
        recorder.close("warning", with: .continue)
        recorder.open("qr")
        recorder.close("qr", with: .scan)
        #expect(
            recorder.json == [
                [
                    "screen": "warning", "timestampOpened": "2027-01-15T08:00:00.000Z",
                    "timestampClosed": "2027-01-15T08:00:01.000Z", "action": "CONTINUE",
                ],
                [
                    "screen": "qr", "timestampOpened": "2027-01-15T08:00:02.000Z",
                    "timestampClosed": "2027-01-15T08:00:03.000Z", "action": "SCAN",
                ],
            ]
        )
    }

    @Test func aScreenThatIsShownAgainIsAnotherVisit() {
        var recorder = self.recorder()
        for action in [MobileTokenData.PreApprovalRecorder.Action.back, .init(rawValue: "HELP")] {
            recorder.open("warning")
            recorder.open("warning")  // drawn anew
            recorder.close("warning", with: action)
        }
        #expect(recorder.visits.map(\.action?.rawValue) == ["BACK", "HELP"])
        #expect(recorder.visits[0].closed.map { $0 < recorder.visits[1].opened } == true)
    }

    @Test func aScreenThatGivesWayToAnotherStaysOpen() {
        var recorder = self.recorder()
        recorder.open("warning")
        recorder.open("qr")
        recorder.close("warning", with: .reject)  // not the one that is shown
        recorder.close("qr", with: .close)
        recorder.close("qr", with: .back)  // left already
        #expect(recorder.visits.map(\.screen) == ["warning", "qr"])
        #expect(recorder.visits.map(\.action) == [nil, .close])
        #expect(recorder.json.array?.first?.object?.keys.count == 2)
        recorder.removeAll()
        #expect(recorder.json == [])
    }

    @Test func theDataHoldWhatIsSetLast() throws {
        var recorder = self.recorder()
        recorder.open("qr")
        var data = MobileTokenData(["a": 1, "preApprovalScreens": "another", "c": 3])
        data["a"] = 2
        data["c"] = nil
        try data.encode(["risk": 0.5], as: "d")
        data.record(recorder)
        #expect(data.members["a"] == 2 && data["c"] == nil && data["d"] == ["risk": 0.5])
        #expect(data["preApprovalScreens"] == recorder.json)
        let error = #expect(throws: MobileTokenError.self) { try data.encode(Double.nan, as: "e") }
        #expect(error?.code == .invalidRequest && data["e"] == nil)
        let operation = LocalOperation(id: "1", data: "A1", mobileTokenData: data.members)
        #expect(operation.mobileTokenData == data.members)
    }
}
