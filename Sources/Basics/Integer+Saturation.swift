extension FixedWidthInteger {
    /// Creates the integer nearest to `value` toward zero that there is; zero for NaN.
    package init(saturating value: Double) {
        if value.isNaN {
            self = 0
        } else {
            self = Self(exactly: value.rounded(.towardZero)) ?? (value < 0 ? .min : .max)
        }
    }

    /// Returns the sum, or the end of the range that it lies beyond.
    package func addingSaturated(_ other: Self) -> Self {
        let (sum, overflow) = self.addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// Returns the difference, or the end of the range that it lies beyond.
    package func subtractingSaturated(_ other: Self) -> Self {
        let (difference, overflow) = self.subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }
}
