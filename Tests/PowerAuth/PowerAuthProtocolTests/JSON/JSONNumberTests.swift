import ExactJSON
import Foundation
import MobileTokenTesting
import Testing

/// No number from outside may end the process.
@Suite struct JSONNumberTests {
    private static let digits = String(repeating: "7", count: 500)
    private static let zeros = String(repeating: "0", count: 500)

    @Test(arguments: [
        "1e-9223372036854775808", "1e9223372036854775808", "1e-9223372036854775809", "1e9223372036854775807",
        "-1e-9223372036854775807", "1e\(zeros)9223372036854775807", "1E+\(digits)", "1e-\(digits)",
        "\(digits)e\(digits)", "-\(digits).\(digits)e-\(digits)", digits, "-\(digits)", "0.\(digits)", "1e128",
        "1e-129",
        "1e1000000", "1e-1000001", "9e18446744073709551616",
    ])
    func aNumberBeyondAllBoundsIsNone(literal: String) throws {
        let number = try #require(JSONNumber(literal: literal))
        #expect(number.decimal == nil)
        #expect(number.int64 == nil)
        #expect(!number.double.isNaN)
        #expect(number.literal == literal)
    }

    @Test(
        arguments: [
            ("-0", 0), ("0e9223372036854775808", 0), ("-0.0e-9223372036854775808", 0), ("0e\(digits)", 0),
            ("1e\(zeros)2", 100), ("1e-\(zeros)", 1), ("100e-\(zeros)2", 1), ("1\(zeros)e-500", 1),
            ("0.\(zeros)1e501", 1),
            ("-9223372036854775808", .min), ("9223372036854775807.0", .max), ("-9223372036854775808e0", .min),
        ] as [(String, Int64)]
    )
    func aNumberWrittenLongIsStillExact(literal: String, value: Int64) throws {
        let number = try #require(JSONNumber(literal: literal))
        #expect(number.int64 == value)
        #expect(number.decimal == Decimal(value))
    }

    @Test func anyExponentIsReadByMagnitude() throws {
        var random = SeededGenerator()
        for _ in 0..<20_000 {
            let digits = String(
                (0..<Int.random(in: 1...60, using: &random)).map { _ in
                    "0123456789".randomElement(using: &random) ?? "0"
                }
            )
            let exponent =
                [
                    "\(Int.random(in: -200...200, using: &random))",
                    "\(Int64.random(in: .min ... .max, using: &random))",
                    "-9223372036854775808", "\(Int.random(in: -10...10, using: &random))",
                ].randomElement(using: &random) ?? ""
            let number = try #require(JSONNumber(literal: "1\(digits).\(digits)e\(exponent)"))
            if let decimal = number.decimal {
                #expect(!decimal.isNaN)
                let shown = try #require(JSONNumber(decimal))
                #expect(shown.decimal == decimal, "\(number)")
            }
            if let integer = number.int64 { #expect(number.decimal == Decimal(integer), "\(number)") }
        }
    }
}
