package import APIDescriptions
import Basics
package import EmulatorMessages
import ExactJSON

extension ReceivedRequest {
    /// Refuses parameters that a route does not have, or not with these values: a filter that is misspelt would show everything.
    package func checkQuery(_ known: [RouteDescription.Parameter]) throws(Refusal) {
        let given = self.query.map { pair in
            let schema = known.first { $0.name.isExactly(pair.name) }?.schema
            return JSONObject.Member(key: pair.name, value: schema?.value(ofText: pair.value) ?? .null)
        }
        let form = Schema.object(known, others: nil)
        if let objection = form.objection(to: .object(JSONObject(given))) { throw .invalidRequest(objection) }
    }
}
