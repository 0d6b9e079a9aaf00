import Testing

/// Each growth that a soak is to find, in samples that were made up.
@Suite struct SoakBoundsTests {
    private let bounds = SoakBounds(activationCount: 100, connectionCount: 8, processorCount: 2)
    private let idle = Self.sample(0)
    private static let megabyte = 1 << 20

    private static func sample(_ minute: Int, _ change: (inout SoakSample) -> Void = { _ in }) -> SoakSample {
        var sample = SoakSample(
            elapsed: .seconds(60 * minute),
            residentBytes: 100 * self.megabyte,
            descriptorCount: 20,
            threadCount: 8,
            operationCount: 60 * minute,
            longestLag: .milliseconds(3)
        )
        change(&sample)
        return sample
    }

    private func violations(end: SoakSample? = nil, _ growth: (Int, inout SoakSample) -> Void) -> [String] {
        let samples = (1...60).map { minute in Self.sample(minute) { growth(minute, &$0) } }
        return self.bounds.violations(idle: self.idle, samples, end: end ?? Self.sample(61))
    }

    @Test func whatIsExplainedByCountsIsAllowed() {
        let violations = self.violations { minute, sample in
            sample.residentBytes += sample.operationCount * 8 << 10
            sample.descriptorCount += 2 * 8
            sample.threadCount += 2 * 2
        }
        #expect(violations == [])
    }

    @Test func aMegabyteAMinuteIsFoundWhereOperationsAreFew() {
        let violations = self.violations { minute, sample in
            sample.operationCount = 100
            sample.residentBytes += minute * Self.megabyte
        }
        #expect(violations.first?.hasSuffix("after 2040.0 seconds") == true, "\(violations.first ?? "none")")
        #expect(violations.count == 27)
    }

    @Test func aDescriptorAMinuteIsFound() {
        #expect(
            self.violations { $1.descriptorCount += $0 }.first == "53 descriptors, at most 52, after 1980.0 seconds"
        )
    }

    @Test func aThreadAMinuteIsFound() {
        #expect(self.violations { $1.threadCount += $0 }.first == "25 threads, at most 24, after 1020.0 seconds")
    }

    @Test func whatStaysBehindIsFound() {
        let end = Self.sample(61) { ($0.descriptorCount, $0.threadCount) = (25, 17) }
        let violations = self.violations(end: end) { _, _ in }
        #expect(violations.map { $0.prefix(25) } == ["25 descriptors at the end", "17 threads at the end, at"])
    }

    @Test func nothingIsProvedWithoutSamples() {
        #expect(self.bounds.violations(idle: self.idle, [], end: self.idle) == ["there are no samples"])
    }

    @Test func theReportHasALineForEachMeasureAndTheLastMoment() {
        let report = SoakReport(samples: (0...100).map { Self.sample($0) }, title: "A soak")
        #expect(report.svg.split(separator: "<polyline").count == 6)
        #expect(report.table.split(separator: "\n").count == 22)
        #expect(
            report.table.split(separator: "\n").last?.split(separator: " ") == ["6000", "100", "20", "8", "6000", "3"]
        )
    }
}
