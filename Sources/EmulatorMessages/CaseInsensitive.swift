extension StringProtocol {
    /// ASCII comparison, as header field names need it.
    package func caseInsensitiveEquals(_ other: some StringProtocol) -> Bool {
        self.utf8.elementsEqual(other.utf8) { one, two in
            one == two || (one ^ two == 0x20 && (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(one | 0x20))
        }
    }
}
