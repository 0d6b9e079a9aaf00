import ExactJSON
package import Foundation

extension Form where Value == Date {
    /// A date in ISO 8601, encoded with milliseconds.
    package static var date: Form<Date> {
        Form<Date>(
            .date,
            read: { (value, place) throws(Schema.Objection) in
                guard let date = value.string.flatMap(ISO8601.date(from:)) else {
                    throw place.objection("is not an ISO 8601 date", value)
                }
                return date
            },
            write: { .string(ISO8601.preciseString(from: $0)) }
        )
    }
}
