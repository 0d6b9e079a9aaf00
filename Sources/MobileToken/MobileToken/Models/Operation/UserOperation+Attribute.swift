public import ExactJSON
public import Foundation

extension UserOperation {
    /// One detail of an operation, such as the amount or the payee.
    public struct Attribute: Sendable, Hashable {
        /// The attribute's identifier, such as `operation.amount`, if the server has one.
        public let id: String?
        /// The attribute's name for people, if the server has one.
        public let label: String?
        /// The content of the attribute.
        public let content: Content

        /// The content of an attribute.
        public enum Content: Sendable, Hashable {
            /// An amount of money.
            case amount(Money)
            /// An amount in two currencies; if `isDynamic`, the rate may still change.
            case amountConversion(source: Money, target: Money, isDynamic: Bool)
            /// A string.
            case keyValue(String)
            /// A longer string.
            case note(String)
            /// A heading above the following attributes, with its level if the server sends one.
            case heading(level: Int? = nil)
            /// A party with a name and a logo.
            case partyInfo(PartyInfo)
            /// A picture.
            case image(thumbnailURL: String, originalURL: String?)
            /// A notice.
            case alert(Alert)
            /// An attribute of a type unknown to this version, or without its type's form, as the server sent it.
            case unknown(type: String?, json: JSONValue)
        }

        /// An amount with its currency.
        public struct Money: Sendable, Hashable {
            /// The exact amount, unless the server sent only the formatted one.
            public let amount: Decimal?
            /// The amount's digits as the server sent them, such as `20.00`; those of ``amount`` if built by hand.
            package let digits: String?
            /// The currency's code, unless the server sent only the formatted one.
            public let currency: String?
            /// The amount for people; plain digits if the server sends none.
            public let amountFormatted: String
            /// The currency for people; its code if the server sends none.
            public let currencyFormatted: String
            /// Amount and currency for people, if the server sends it.
            public let valueFormatted: String?

            /// Returns whether both are equal, however the number's digits were written.
            public static func == (one: Self, other: Self) -> Bool {
                one.amount == other.amount && one.currency == other.currency
                    && one.amountFormatted == other.amountFormatted && one.currencyFormatted == other.currencyFormatted
                    && one.valueFormatted == other.valueFormatted
            }

            /// Hashes the number and the currency.
            public func hash(into hasher: inout Hasher) {
                hasher.combine(self.amount)
                hasher.combine(self.currency)
            }
        }

        /// A party with a name and a logo.
        public struct PartyInfo: Sendable, Hashable {
            /// The address of the logo.
            public let logoURL: String?
            /// The name.
            public let name: String?
            /// A description.
            public let description: String?
            /// The address of the website.
            public let websiteURL: String?

            /// Creates a party. Unknown members are `nil`.
            public init(
                logoURL: String? = nil,
                name: String? = nil,
                description: String? = nil,
                websiteURL: String? = nil
            ) {
                self.logoURL = logoURL
                self.name = name
                self.description = description
                self.websiteURL = websiteURL
            }
        }

        /// A notice.
        public struct Alert: Sendable, Hashable {
            /// The severity of a notice.
            public enum Kind: String, Sendable, Hashable, Codable {
                /// Success.
                case success = "SUCCESS"
                /// Information.
                case info = "INFO"
                /// A warning.
                case warning = "WARNING"
                /// An error.
                case error = "ERROR"
            }

            /// The severity of the notice.
            public let kind: Kind
            /// The title.
            public let title: String?
            /// The message.
            public let message: String?

            /// Creates a notice.
            public init(kind: Kind, title: String? = nil, message: String? = nil) {
                self.kind = kind
                self.title = title
                self.message = message
            }
        }

        /// Creates an attribute.
        public init(id: String?, label: String?, content: Content) {
            self.id = id
            self.label = label
            self.content = content
        }
    }
}

extension UserOperation.Attribute.Money {
    /// Creates an amount.
    public init(
        amount: Decimal?,
        currency: String?,
        amountFormatted: String,
        currencyFormatted: String,
        valueFormatted: String? = nil
    ) {
        self.init(
            amount: amount,
            digits: amount?.description,
            currency: currency,
            amountFormatted: amountFormatted,
            currencyFormatted: currencyFormatted,
            valueFormatted: valueFormatted
        )
    }
}
