extension Double {
    /// With as many decimals as told, no more.
    func formatted(decimals: Int) -> String {
        var factor = 1.0
        for _ in 0..<decimals { factor *= 10 }
        guard self.isFinite, abs(self) * factor < 1e15 else { return "\(self)" }
        let scaled = (abs(self) * factor).rounded()
        let whole = Int(scaled / factor)
        let sign = self < 0 && scaled > 0 ? "-" : ""
        guard decimals > 0 else { return "\(sign)\(whole)" }
        let fraction = String(Int(scaled - Double(whole) * factor))
        return "\(sign)\(whole)." + String(repeating: "0", count: decimals - fraction.count) + fraction
    }

    /// Three significant digits or all whole ones, thousands apart: `12 345`, `123`, `1.23`.
    var grouped: String {
        if abs(self) < 10 { return self.formatted(decimals: self == self.rounded() ? 0 : 2) }
        if abs(self) < 100 { return self.formatted(decimals: self == self.rounded() ? 0 : 1) }
        let digits = Array(self.formatted(decimals: 0))
        return String(
            digits.enumerated().flatMap { index, digit -> [Character] in
                index > 0 && (digits.count - index) % 3 == 0 && digits[index - 1] != "-"
                    ? ["\u{202F}", digit] : [digit]
            }
        )
    }
}
