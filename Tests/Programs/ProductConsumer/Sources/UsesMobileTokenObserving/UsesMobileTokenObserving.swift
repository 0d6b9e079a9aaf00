import MobileToken
import MobileTokenObserving

let types: [Any.Type] = [
    (any MobileTokenObserver).self, MobileTokenObservation.self, MobileTokenObservation.Request.self,
    MobileTokenObservation.Request.Result.self,
    MobileTokenObservation.Request.Outcome.self, MobileTokenObservation.Retry.self,
    MobileTokenObservation.RetryReason.self, MobileTokenObservation.Signature.self,
    MobileTokenObservation.Wait.self, MobileTokenObservation.Decision.self, MobileTokenObservation.Receipt.self,
    MobileTokenObservation.Receipt.Kind.self, MobileTokenObservation.Poll.self,
    MobileTokenObservation.OperationList.self, MobileTokenObservation.ActivationState.self,
    MobileTokenObservation.Agent.self, CounterComparison.self, CounterComparison.Result.self,
]

struct SlowRequests: MobileTokenObserver {
    func requestFinished(_ request: MobileTokenObservation.Request, with result: MobileTokenObservation.Request.Result)
    {
        if result.duration > .seconds(1) { print(request.path, result.error?.code ?? "-") }
    }
}

func observed() -> MobileTokenClient.Configuration {
    var configuration = MobileTokenClient.Configuration()
    configuration.observer = SlowRequests()
    return configuration
}
