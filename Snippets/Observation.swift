// Feeds what the SDK does to a logging and a metrics library.
import MobileToken

// snippet.hide
struct Logger { func debug(_ text: String) { print(text) } }
struct Timer { func record(_ duration: Duration, labels: [String]) { print(duration, labels) } }
let sdkConfiguration = CommandLine.arguments[1]
// snippet.show
struct Telemetry: MobileTokenObserver {
    let logger = Logger()
    let requests = Timer()

    func requestFinished(path: String, status: Int?, duration: Duration) {
        self.requests.record(duration, labels: [path, status.map(String.init) ?? "none"])
    }

    func requestRetried(path: String, reason: RetryReason) {
        self.logger.debug("retried \(path): \(reason)")
    }
}

var configuration = MobileTokenClient.Configuration()
configuration.observer = Telemetry()
let client = try MobileTokenClient(
    baseURL: "https://powerauth.example.com/enrollment-server",
    sdkConfiguration: sdkConfiguration,
    configuration: configuration
)
