import ExactJSON
import Foundation
import Testing

@Suite struct ISO8601Tests {
    @Test(arguments: [
        ("2018-07-02T14:43:13+0000", 1_530_542_593),
        ("2018-07-02T14:43:13+00:00", 1_530_542_593),
        ("2018-07-02T14:43:13Z", 1_530_542_593),
        ("2018-07-02T14:43:13-0000", 1_530_542_593),
        ("2018-07-02T16:43:13+02:00", 1_530_542_593),
        ("2018-07-02T09:13:13-0530", 1_530_542_593),
        ("2018-07-02T14:43:13.5Z", 1_530_542_593.5),
        ("2018-07-02T14:43:13.250+0000", 1_530_542_593.25),
        ("2018-07-02T14:43:13.000000000000+00:00", 1_530_542_593),
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59Z", -1),
        ("2000-02-29T00:00:00Z", 951_782_400),
        ("2024-02-29T23:59:59Z", 1_709_251_199),
        ("0000-01-01T00:00:00Z", -62_167_219_200),
        ("9999-12-31T23:59:59Z", 253_402_300_799),
    ])
    func readsDatesWithAnOffset(text: String, seconds: Double) {
        #expect(ISO8601.date(from: text)?.timeIntervalSince1970 == seconds)
    }

    @Test(arguments: [
        "", "2018-07-02", "2018-07-02T14:43:13", "2018-07-02T14:43Z", "2018-07-02 14:43:13Z", "2018-07-02t14:43:13Z",
        "2018-07-02T14:43:13z", "20180702T144313Z", "2018-7-2T14:43:13Z", "2018-13-02T14:43:13Z",
        "2018-00-02T14:43:13Z",
        "2018-02-29T14:43:13Z", "1900-02-29T14:43:13Z", "2018-04-31T14:43:13Z", "2018-07-00T14:43:13Z",
        "2018-07-02T24:00:00Z", "2018-07-02T14:60:13Z", "2018-07-02T14:43:60Z", "2018-07-02T14:43:13.Z",
        "2018-07-02T14:43:13,5Z", "2018-07-02T14:43:13+00", "2018-07-02T14:43:13+0:00", "2018-07-02T14:43:13+2400",
        "2018-07-02T14:43:13+0060", "2018-07-02T14:43:13Z ", " 2018-07-02T14:43:13Z", "2018-07-02T14:43:13+0000x",
        "+2018-07-02T14:43:13Z", "٢٠١٨-07-02T14:43:13Z", "1530542593", "1530542593000",
    ])
    func refusesEverythingElse(text: String) {
        #expect(ISO8601.date(from: text) == nil)
    }

    @Test func agreesWithFoundationOnEveryDayOfFourCenturies() {
        let formatter = Date.ISO8601FormatStyle()
        for day in stride(from: -70_000, to: 80_000, by: 1) {
            let date = Date(timeIntervalSince1970: Double(day) * 86_400 + 45_296)
            let text = ISO8601.string(from: date)
            #expect(text == formatter.format(date).replacing("Z", with: "+0000"))
            #expect(ISO8601.date(from: text) == date)
        }
    }

    @Test func writesWholeSecondsInUTC() {
        #expect(ISO8601.string(from: Date(timeIntervalSince1970: 1_530_542_593.999)) == "2018-07-02T14:43:13+0000")
        #expect(ISO8601.string(from: Date(timeIntervalSince1970: -0.5)) == "1969-12-31T23:59:59+0000")
        #expect(ISO8601.string(from: .distantFuture).hasPrefix("4001-01-01"))
        #expect(ISO8601.string(from: Date(timeIntervalSince1970: 1e300)) == "9999-12-31T23:59:59+0000")
        #expect(ISO8601.string(from: Date(timeIntervalSince1970: -1e300)) == "0000-01-01T00:00:00+0000")
    }

    @Test(
        arguments: [
            (.nan, "1970-01-01T00:00:00+0000"), (.infinity, "9999-12-31T23:59:59+0000"),
            (-.infinity, "0000-01-01T00:00:00+0000"), (1e300, "9999-12-31T23:59:59+0000"),
            (-1e300, "0000-01-01T00:00:00+0000"),
        ] as [(Double, String)]
    )
    func writesTheNearestDateThatHasAForm(seconds: Double, text: String) {
        #expect(ISO8601.string(from: Date(timeIntervalSince1970: seconds)) == text)
    }
}
