import Foundation

/// A list of operations, typed plainly for Foundation's decoder.
struct PlainAnswer: Decodable {
    struct Operation: Decodable {
        struct SignatureType: Decodable {
            let type: String
            let variants: [String]
        }

        struct Form: Decodable {
            struct Attribute: Decodable {
                let type: String
                let id: String
                let label: String
                let amount: Decimal?
                let currency: String?
                let amountFormatted: String?
                let currencyFormatted: String?
                let value: String?
                let note: String?
            }

            let title: String
            let message: String
            let attributes: [Attribute]
        }

        let id: String
        let name: String
        let data: String
        let status: String
        let operationCreated: Date
        let operationExpires: Date
        let allowedSignatureType: SignatureType
        let formData: Form
    }

    let status: String
    let responseObject: [Operation]
    let currentTimestamp: Date
}

extension JSONDecoder {
    /// With the quickest parser of dates that Foundation has.
    static var answers: JSONDecoder {
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            try style.parse(decoder.singleValueContainer().decode(String.self))
        }
        return decoder
    }
}
