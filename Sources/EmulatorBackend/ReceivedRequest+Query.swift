package import APIDescriptions
import Basics
package import EmulatorMessages
import ExactJSON

extension ReceivedRequest {
    /// Refuses parameters that a route does not have, or not with these values: a filter that is misspelt would show everything.
    package func checkQuery(_ known: [RouteDescription.Parameter]) throws(Refusal) {
        let form = Schema.object(known, others: nil)
        if let mistake = form.mistake(in: self.parameters(known)) { throw .invalid(mistake) }
    }

    /// Returns the parameters that a route does not have.
    func unknownParameters(beside known: [RouteDescription.Parameter]) -> [UnknownMember] {
        Schema.tolerant(.object(known, others: nil)).withoutUnknown(self.parameters(known)).unknown
    }

    private func parameters(_ known: [RouteDescription.Parameter]) -> JSONValue {
        .object(
            JSONObject(
                self.query.map { pair in
                    let schema = known.first { $0.name.isExactly(pair.name) }?.schema
                    return JSONObject.Member(key: pair.name, value: schema?.value(ofText: pair.value) ?? .null)
                }
            )
        )
    }
}
