import CommandLineSupport
import Testing

/// Number 35: cells are padded by the columns that they take.
@Suite struct TextTableTests {
    @Test(arguments: [
        ("abc", 3), ("支払い", 6), ("한국", 4), ("ｱ", 1), ("Ａ", 2), ("e\u{301}", 1), ("☕", 2), ("👩‍👩‍👧", 2), ("", 0),
    ])
    func wideCharactersTakeTwoColumns(_ text: String, _ width: Int) {
        #expect(TextTable.width(of: text) == width)
    }

    @Test func columnsStandBelowEachOther() {
        var table = TextTable(header: "NAME", "ID")
        table.add("支払い", "1")
        table.add("payment", "2")
        #expect(table.text == "NAME     ID\n支払い   1\npayment  2")
    }
}
