import ExactJSON
import MobileToken

let jsonTypes: [Any.Type] = [
    JSONValue.self, JSONObject.self, JSONObject.Member.self, JSONNumber.self, JSONError.self, JSONError.Reason.self,
    JSONLimits.self,
]

func limit(of operation: UserOperation) -> JSONNumber? { operation[custom: "limit"]?.number }
