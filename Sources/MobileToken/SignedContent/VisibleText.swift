import Foundation

/// A string as a person sees it, normalized: without invisible characters and markup, and with ASCII digits.
///
/// All searches for accounts and amounts use it, so that they see through the same disguises.
package struct VisibleText {
    private enum Content {
        /// Most texts are printable ASCII, and need no look at Unicode's tables.
        case ascii(String)
        case unicode([Unicode.Scalar])
    }

    private let content: Content
    /// Indicates whether the string has characters that only change the display order of others.
    package let hasDirectionControls: Bool
    /// The signs of amounts and accounts, without which a text is read only once.
    let signs: NumberSigns

    package init(_ text: String) {
        var text = text
        if let signs = text.withUTF8({ NumberSigns(ofPlain: $0) }) {
            (self.content, self.hasDirectionControls, self.signs) = (.ascii(text), false, signs)
            return
        }
        let plain = Markup.undone(in: text)
        let scalars = Self.visible(plain)
        self.content = .unicode(scalars)
        self.hasDirectionControls = plain.unicodeScalars.contains { $0.properties.isBidiControl }
        self.signs = NumberSigns(of: scalars)
    }

    /// The scalars, decomposed, without combining marks. A numeric character that is no decimal digit, or is of another script
    /// than its neighbor, becomes a ``Unicode/Scalar/isOddDigit``.
    var scalars: [Unicode.Scalar] {
        switch self.content {
        case .ascii(let text): text.utf8.map { Unicode.Scalar($0) }
        case .unicode(let scalars): scalars
        }
    }

    /// The scalars as a person would type them, with digits instead of lookalikes.
    var typed: [Unicode.Scalar] {
        switch self.content {
        case .ascii: self.scalars
        case .unicode(let scalars): scalars.map(\.typed)
        }
    }

    private static func visible(_ text: String) -> [Unicode.Scalar] {
        // Decomposition makes plain digits of raised ones, which is another number.
        let marked = String(scalars: text.unicodeScalars.map { $0.isASCII ? $0 : $0.markedIfOdd })
        var visible: [Unicode.Scalar] = []
        var script: UInt32?
        for scalar in marked.decomposedStringWithCompatibilityMapping.unicodeScalars {
            let properties = scalar.properties
            if let digit = scalar.decimalDigit {
                let zero = scalar.value - digit
                visible.append(script == nil || script == zero ? Unicode.Scalar(ascii: digit) : .odd(digit))
                script = zero
            } else if !properties.isDefaultIgnorableCodePoint, !scalar.isMark {
                if properties.isAlphabetic { script = nil }
                visible.append(scalar.isSlash ? "/" : properties.isWhitespace ? " " : scalar)
            }
        }
        return visible
    }
}

/// The signs without which a text has no amount or no account.
struct NumberSigns {
    private(set) var hasDigit = false
    /// Indicates whether there is the slash of a domestic account, or there are two digits in a row.
    private(set) var mayHaveAccount = false
    private var isAfterDigit = false

    /// Creates the signs of printable ASCII; `nil` for other text, and for what may be markup or a slash's lookalike.
    fileprivate init?(ofPlain bytes: UnsafeBufferPointer<UInt8>) {
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "<"), UInt8(ascii: "&"), UInt8(ascii: "\\"): return nil
            case 0x20..<0x7F: self.note(Unicode.Scalar(byte))
            default: return nil
            }
        }
    }

    fileprivate init(of scalars: [Unicode.Scalar]) {
        for scalar in scalars { self.note(scalar) }
    }

    private mutating func note(_ scalar: Unicode.Scalar) {
        if scalar.isDigit { self.hasDigit = true }
        let isDigit = scalar.typed.readAsDigit.isASCIIDigit
        if scalar == "/" || isDigit && self.isAfterDigit { self.mayHaveAccount = true }
        self.isAfterDigit = isDigit
    }
}

extension String {
    /// Creates a string, several times as fast as by a view of scalars.
    init(scalars: some Sequence<Unicode.Scalar>) {
        var bytes: [UInt8] = []
        for scalar in scalars {
            if scalar.isASCII {
                bytes.append(UInt8(truncatingIfNeeded: scalar.value))
            } else {
                bytes += scalar.utf8
            }
        }
        self.init(decoding: bytes, as: UTF8.self)
    }
}

extension Unicode.Scalar {
    var isASCIIDigit: Bool { "0"..."9" ~= self }
    /// Indicates whether this is a digit, or stands for a number.
    var isDigit: Bool { self.isASCIIDigit || self.isOddDigit }
    /// The digit that a person reads for this letter where digits belong; itself if there is none.
    var readAsDigit: Self {
        switch self {
        case "O", "o": "0"
        case "I", "i": "1"
        default: self
        }
    }
    /// Indicates whether this is a letter of any alphabet, or counts as one.
    var isLetter: Bool {
        self.isASCII ? "a"..."z" ~= self || "A"..."Z" ~= self : self.properties.isAlphabetic
    }
    /// Indicates whether this is the sign of a currency, such as `$`.
    var isCurrencySign: Bool {
        self.isASCII ? self == "$" : self.properties.generalCategory == .currencySymbol
    }
    /// Indicates whether this stands for a number that is not simply the digits shown.
    var isOddDigit: Bool { !self.isASCII && Self.oddDigits.contains(self.value) }
    var isSpace: Bool { self.isASCII ? self == " " || "\t"..."\r" ~= self : self.properties.isWhitespace }
    var isDashPunctuation: Bool {
        self.isASCII ? self == "-" : self.properties.generalCategory == .dashPunctuation
    }
    /// Indicates whether this is a dash or looks like one.
    var isDash: Bool { self.isDashPunctuation || !self.isASCII && ["\u{2212}", "\u{2043}", "\u{02D7}"].contains(self) }

    /// Private-use characters, unused in real strings: ten digits, and one for all other numbers.
    private static let oddDigits: ClosedRange<UInt32> = 0xF0030...0xF003A

    fileprivate init(ascii digit: UInt32) { self = Unicode.Scalar(UInt8(truncatingIfNeeded: 0x30 + digit)) }

    fileprivate static func odd(_ digit: UInt32) -> Self { Self(Self.oddDigits.lowerBound + digit) ?? "\u{FFFD}" }

    fileprivate var decimalDigit: UInt32? {
        if self.isASCII { return self.isASCIIDigit ? self.value - 0x30 : nil }
        guard self.properties.generalCategory == .decimalNumber else { return nil }
        return self.properties.numericValue.flatMap { UInt32(exactly: $0) }
    }

    fileprivate var markedIfOdd: Self {
        switch self.properties.generalCategory {
        case .otherNumber, .letterNumber: break
        // `百` and `万` are letters.
        case .otherLetter where self.properties.numericType != nil: break
        default: return self
        }
        let digit = self.properties.numericValue.flatMap { UInt32(exactly: $0) }.flatMap { $0 < 10 ? $0 : nil }
        return .odd(digit ?? 10)
    }

    fileprivate var typed: Self {
        guard self.isOddDigit, self.value < Self.oddDigits.upperBound else { return self }
        return Self(ascii: self.value - Self.oddDigits.lowerBound)
    }

    fileprivate var isMark: Bool {
        switch self.properties.generalCategory {
        case .nonspacingMark, .enclosingMark: true
        default: false
        }
    }

    /// Indicates whether this is a slash or looks like one.
    fileprivate var isSlash: Bool {
        ["/", "\\", "\u{2044}", "\u{2215}", "\u{2216}", "\u{29F8}", "\u{29F9}", "\u{27CB}", "\u{2571}"].contains(self)
    }
}

/// The markup that can split an account or an amount: tags and character entities.
private enum Markup {
    /// Returns the string with spaces instead of tags, and characters instead of entities.
    static func undone(in text: String) -> String {
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "&") }) else { return text }
        // Twice, because a server may escape an escaped string.
        return Self.withoutTags(Self.withoutEntities(Self.withoutEntities(text)))
    }

    private static func withoutTags(_ text: String) -> String {
        text.replacing(/<[\/!]?[A-Za-z][^<>]*>|<!--.*?-->/, with: " ")
    }

    private static func withoutEntities(_ text: String) -> String {
        text.replacing(/&(#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});?/) { match in
            Self.character(named: match.output.1) ?? String(match.output.0)
        }
    }

    private static func character(named name: Substring) -> String? {
        if name.first == "#" {
            let number = name.dropFirst()
            let isHexadecimal = number.first == "x" || number.first == "X"
            let value = UInt32(isHexadecimal ? number.dropFirst() : number, radix: isHexadecimal ? 16 : 10)
            return value.flatMap(Unicode.Scalar.init).map { String($0) }
        }
        return Self.names[String(name)]
    }

    /// Named entities for white space, invisible characters, and parts of accounts and amounts.
    private static let names = [
        "nbsp": " ", "ensp": " ", "emsp": " ", "thinsp": " ", "hairsp": " ", "numsp": " ", "puncsp": " ", "Tab": " ",
        "NewLine": " ", "shy": "", "zwj": "", "zwnj": "", "ZeroWidthSpace": "", "NoBreak": "", "lrm": "\u{200E}",
        "rlm": "\u{200F}", "sol": "/", "bsol": "/", "frasl": "/", "hyphen": "-", "dash": "-", "ndash": "-",
        "mdash": "-",
        "minus": "-", "comma": ",", "period": ".", "apos": "'", "rsquo": "'", "lt": "<", "gt": ">", "amp": "&",
        "euro": "€", "pound": "£", "yen": "¥", "dollar": "$", "cent": "¢", "curren": "¤",
    ]
}
