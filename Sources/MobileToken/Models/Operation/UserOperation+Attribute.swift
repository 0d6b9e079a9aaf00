public import Foundation
import PowerAuthProtocol

extension UserOperation {
    /// One detail of an operation, such as the amount or the payee.
    public struct Attribute: Sendable, Hashable {
        /// The attribute's identifier, such as `operation.amount`. Only a malformed attribute has none.
        public let id: String?
        /// The attribute's name for people. Only a malformed attribute has none.
        public let label: String?
        /// The content of the attribute.
        public let content: Content

        /// The content of an attribute.
        public enum Content: Sendable, Hashable {
            /// An amount of money.
            case amount(Money)
            /// An amount in two currencies; when `isDynamic`, the rate still moves.
            case amountConversion(source: Money, target: Money, isDynamic: Bool)
            /// A string.
            case keyValue(String)
            /// A longer text.
            case note(String)
            /// A heading above the attributes that follow.
            case heading
            /// A party with a name and a logo.
            case partyInfo(PartyInfo)
            /// A picture.
            case image(thumbnailURL: String, originalURL: String?)
            /// A notice.
            case alert(Alert)
            /// An attribute of a type that this version does not know, or one that does not have its type's form, as it came.
            case unknown(type: String?, json: JSONValue)
        }

        /// An amount with its currency.
        public struct Money: Sendable, Hashable {
            /// The amount with every digit, unless the server sent only the formatted one.
            public let amount: Decimal?
            /// The currency's code, unless the server sent only the formatted one.
            public let currency: String?
            /// The amount for people; where the server sends none, the digits of the amount as they came.
            public let amountFormatted: String
            /// The currency for people; where the server sends none, its code.
            public let currencyFormatted: String
            /// Amount and currency for people, where the server sends it.
            public let valueFormatted: String?

            /// Creates an amount.
            public init(
                amount: Decimal?,
                currency: String?,
                amountFormatted: String,
                currencyFormatted: String,
                valueFormatted: String? = nil
            ) {
                self.amount = amount
                self.currency = currency
                self.amountFormatted = amountFormatted
                self.currencyFormatted = currencyFormatted
                self.valueFormatted = valueFormatted
            }
        }

        /// A party with a name and a logo.
        public struct PartyInfo: Sendable, Hashable {
            /// The address of the logo.
            public let logoURL: String
            /// The name.
            public let name: String
            /// A description.
            public let description: String
            /// The address of the website.
            public let websiteURL: String?

            /// Creates a party.
            public init(logoURL: String, name: String, description: String, websiteURL: String? = nil) {
                self.logoURL = logoURL
                self.name = name
                self.description = description
                self.websiteURL = websiteURL
            }
        }

        /// A notice.
        public struct Alert: Sendable, Hashable {
            /// The weight of a notice.
            public enum Kind: String, Sendable, Hashable, Codable {
                /// Good news.
                case success = "SUCCESS"
                /// Something to know.
                case info = "INFO"
                /// Something to mind.
                case warning = "WARNING"
                /// Something wrong.
                case error = "ERROR"
            }

            /// The weight of the notice.
            public let kind: Kind
            /// The title.
            public let title: String?
            /// The message.
            public let message: String

            /// Creates a notice.
            public init(kind: Kind, title: String? = nil, message: String) {
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
