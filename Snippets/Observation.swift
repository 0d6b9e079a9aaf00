// Feeds what the SDK does to a logging and a metrics library.
import MobileToken

// snippet.hide
let sdkConfiguration = CommandLine.arguments[1]
// snippet.show
struct Telemetry: MobileTokenObserver {
    /// Puts a line into a log.
    let log: @Sendable (String) -> Void
    /// Puts a duration into a histogram with labels.
    let measure: @Sendable (Duration, [String]) -> Void

    func requestFinished(
        _ request: MobileTokenObservation.Request,
        with result: MobileTokenObservation.Request.Result
    ) {
        self.measure(result.duration, [request.path, result.outcome.description])
    }

    func decisionEnded(_ decision: MobileTokenObservation.Decision) {
        self.log("\(decision.verdict) of \(decision.operationID): \(decision.result)")
    }
}

var configuration = MobileTokenClient.Configuration()
configuration.observer = Telemetry(log: { print($0) }, measure: { print($1, $0) })
let client = try MobileTokenClient(
    baseURL: "https://powerauth.example.com/enrollment-server",
    sdkConfiguration: sdkConfiguration,
    configuration: configuration
)
