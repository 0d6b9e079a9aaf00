// Feeds what the SDK does to a logging and a metrics library.
import MobileToken

// snippet.hide
struct Logger { func info(_ text: String) { print(text) } }
struct Timer { func record(_ duration: Duration, labels: [String]) { print(duration, labels) } }
let sdkConfiguration = CommandLine.arguments[1]
// snippet.show
struct Telemetry: MobileTokenObserver {
    let logger = Logger()
    let requests = Timer()

    func requestFinished(_ request: Observed.Request, with result: Observed.Request.Result) {
        self.requests.record(result.duration, labels: [request.path, result.outcome.description])
    }

    func decisionEnded(_ decision: Observed.Decision) {
        self.logger.info("\(decision.verdict) of \(decision.operationID): \(decision.result)")
    }
}

var configuration = MobileTokenClient.Configuration()
configuration.observer = Telemetry()
let client = try MobileTokenClient(
    baseURL: "https://powerauth.example.com/enrollment-server",
    sdkConfiguration: sdkConfiguration,
    configuration: configuration
)
