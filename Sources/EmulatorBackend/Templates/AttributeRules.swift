import APIDescriptions
import Basics
import EmulatorMessages
import ExactJSON

/// The members without which no device can show an attribute of an operation.
enum AttributeRules {
    /// By type; of each list, one member must be there.
    private static let members: [String: [[String]]] = [
        "AMOUNT": [["amount", "amountFormatted"], ["currency", "currencyFormatted"]],
        "AMOUNT_CONVERSION": [
            ["sourceAmount", "sourceAmountFormatted"], ["sourceCurrency", "sourceCurrencyFormatted"],
            ["targetAmount", "targetAmountFormatted"], ["targetCurrency", "targetCurrencyFormatted"], ["dynamic"],
        ],
        "KEY_VALUE": [["value"]], "NOTE": [["note"]], "PARTY_INFO": [["partyInfo"]], "IMAGE": [["thumbnailUrl"]],
    ]

    /// - Throws: The first attribute that lacks a member, with its place.
    static func check(_ formData: JSONValue) throws(DocumentMistake) {
        guard let form = formData.object, let attributes = form["attributes"]?.array else { return }
        for (index, attribute) in attributes.enumerated() {
            let type = attribute["type"]?.string ?? ""
            let needed = Self.members.first { type.isExactly($0.key) }?.value ?? []
            for names in needed where !names.contains(where: { attribute[$0] != nil }) {
                throw DocumentMistake(
                    "'attributes[\(index)].\(names[0])' is missing: without it no device can show \(type.beginning)",
                    at: form.place(of: "attributes") + [index]
                )
            }
        }
    }
}
