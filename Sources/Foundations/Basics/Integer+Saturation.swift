extension FixedWidthInteger {
    /// Creates an integer from `value`, rounded toward zero and clamped to the type's range; zero for NaN.
    @inlinable public init(saturating value: Double) {
        if value.isNaN {
            self = 0
        } else {
            self = Self(exactly: value.rounded(.towardZero)) ?? (value < 0 ? .min : .max)
        }
    }

    /// Returns the sum, clamped to the type's range.
    @inlinable public func addingSaturated(_ other: Self) -> Self {
        let (sum, overflow) = self.addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// Returns the difference, clamped to the type's range.
    @inlinable public func subtractingSaturated(_ other: Self) -> Self {
        let (difference, overflow) = self.subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }
}
