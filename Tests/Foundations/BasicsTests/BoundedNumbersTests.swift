import Basics
import Testing

@Suite struct BoundedNumbersTests {
    @Test(
        arguments: [
            (.nan, 0), (.infinity, .max), (-.infinity, .min), (1e300, .max), (-1e300, .min), (0x1p63, .max),
            (-0x1p63, .min), (0x1p62, 1 << 62), (1.9, 1), (-1.9, -1), (-0.0, 0), (.leastNonzeroMagnitude, 0),
        ] as [(Double, Int64)]
    )
    func theNearestIntegerIsTaken(value: Double, expected: Int64) {
        #expect(Int64(saturating: value) == expected)
    }

    @Test func sumsAndDifferencesEndAtTheEndOfTheRange() {
        #expect(Int64.max.addingSaturated(1) == .max)
        #expect(Int64.min.addingSaturated(-1) == .min)
        #expect(Int64.min.subtractingSaturated(1) == .min)
        #expect(Int64.max.subtractingSaturated(.min) == .max)
        #expect(UInt64.max.addingSaturated(1) == .max)
        #expect(UInt64.min.subtractingSaturated(1) == .min)
        #expect(3.addingSaturated(-5) == -2)
        #expect(3.subtractingSaturated(5) == -2)
    }

    @Test(arguments: [.nan, .infinity, 1e300, 3.2e9]) func aVeryLongTimeIsACentury(seconds: Double) {
        #expect(Duration(boundedSeconds: seconds) == .longest)
    }

    @Test(
        arguments: [
            (.zero, 0), (.seconds(17), 17), (.milliseconds(17_001), 18), (.nanoseconds(1), 1),
            (.milliseconds(-1_500), -1),
            (Duration(attoseconds: .max), 3_155_760_000),
        ] as [(Duration, Int64)]
    )
    func aWaitInWholeSecondsIsNeverTooShort(wait: Duration, seconds: Int64) {
        #expect(wait.roundedUpSeconds == seconds)
    }

    @Test func durationsStayWithinACenturyEitherWay() {
        #expect(Duration(boundedSeconds: -.infinity) == .zero - .longest)
        #expect(Duration(boundedSeconds: 1.5) == .milliseconds(1_500))
        #expect(Duration(boundedSeconds: -1.5) == .milliseconds(-1_500))
        #expect(Duration(attoseconds: .max).bounded == .longest)
        #expect(Duration(attoseconds: .min).bounded == .zero - .longest)
        #expect(Duration.seconds(Int64.max).bounded == .longest)
        #expect(Duration.seconds(7).bounded == .seconds(7))
    }
}
