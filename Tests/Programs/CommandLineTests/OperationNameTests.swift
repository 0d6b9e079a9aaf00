import CommandLineSupport
import Testing

/// A person, or a script in a person's place, decides only what was named without doubt.
@Suite struct OperationNameTests {
    private static let listed = ["pay-10", "pay-1", "pay-2", "login-77"]

    @Test func anIdentifierMeansItselfWhateverElseBeginsSo() throws {
        #expect(try OperationName("pay-1").resolved(among: Self.listed) == "pay-1")
        #expect(try OperationName("pay-1").resolved(among: ["pay-1", "pay-10"]) == "pay-1")
    }

    @Test func aBeginningMeansTheOneThatBeginsSo() throws {
        #expect(try OperationName("logi").resolved(among: Self.listed) == "login-77")
        #expect(try OperationName("other").resolved(among: Self.listed) == "other")
    }

    @Test(arguments: ["", "p", "pay-", "log", "l"]) func whatIsEmptyShortOrSharedNamesNothing(name: String) {
        #expect(throws: UsageError.self) { try OperationName(name).resolved(among: Self.listed) }
    }
}
