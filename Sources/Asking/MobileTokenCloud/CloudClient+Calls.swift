package import APIDescriptions
import Basics
import Coordination
import ExactJSON
import HTTPClientTransport

extension CloudClient {
    /// Makes a call, with retries if it is read-only.
    package func call<Input, Output>(
        _ endpoint: Endpoint<Input, Output>,
        _ input: Input
    ) async throws -> CloudResponse<Output> {
        try await self.call(endpoint, input) { (output) throws(Schema.Objection) in output }
    }

    /// Makes a call, with retries if it is read-only.
    ///
    /// - Parameter read: Converts the response; throws for an impossible one.
    func call<Input, Output, Value>(
        _ endpoint: Endpoint<Input, Output>,
        _ input: Input,
        _ read: (Output) throws(Schema.Objection) -> Value
    ) async throws -> CloudResponse<Value> {
        let request = try self.request(for: endpoint, input)
        var retries = Retries(
            remaining: endpoint.isRead ? self.configuration.readAttempts - 1 : 0,
            longestWait: self.timeout
        )
        while true {
            do {
                return try await self.exchange(request, of: endpoint, read)
            } catch let error as CloudError {
                guard let delay = retries.delay(after: error) else { throw error }
                try await self.clock.sleep(until: self.clock.now + delay)
            }
        }
    }

    private func request<Input, Output>(
        for endpoint: Endpoint<Input, Output>,
        _ input: Input
    ) throws(CloudError) -> HTTPRequest {
        let call = endpoint.call(input)
        for (name, argument) in call.arguments {
            // A path component of dots would refer to a folder.
            guard (1...255).contains(argument.utf8.count), argument != ".", argument != ".." else {
                throw CloudError(.invalidRequest, "'\(name)' is empty, longer than 255 bytes, or dots alone")
            }
        }
        guard !call.query.contains(where: { $0.value.utf8.contains(0) }), call.body?.containsNUL != true,
            !call.arguments.contains(where: { $0.value.utf8.contains(0) })
        else {
            throw CloudError(.invalidRequest, "The character NUL cannot be kept")
        }
        guard let method = HTTPRequest.Method(rawValue: endpoint.method) else {
            throw CloudError(.invalidRequest, "The method \(endpoint.method) is not known")
        }
        let query = call.query.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
        var request = HTTPRequest(
            method,
            url: self.baseURL + endpoint.path(of: call) + (query.isEmpty ? "" : "?" + query.joined(separator: "&")),
            headers: ["Accept": "application/json", "Cache-Control": "no-cache, no-store"],
            body: call.body?.serialized(),
            timeout: self.timeout,
            isRepeatable: endpoint.isRead
        )
        if let authorization { request.headers.add(name: "Authorization", value: authorization.value) }
        if request.body != nil { request.headers.add(name: "Content-Type", value: "application/json") }
        return request
    }

    private func exchange<Input, Output, Value>(
        _ request: HTTPRequest,
        of endpoint: Endpoint<Input, Output>,
        _ read: (Output) throws(Schema.Objection) -> Value
    ) async throws -> CloudResponse<Value> {
        let response: HTTPResponse
        do { response = try await self.transport.send(request) } catch {
            throw CloudError.transport(error, isRead: endpoint.isRead)
        }
        let date = response.headers["Date"].flatMap { HTTPDate.date($0) }
        let limits = JSONLimits(maximumByteCount: Self.largestAnswer, maximumDepth: 64, maximumValueCount: 64 << 10)
        let json = try? JSONValue(parsing: response.body, limits: limits)
        if var error = CloudError(response, json, date: date, isRead: endpoint.isRead) {
            error.date = date
            throw error
        }
        func unreadable(_ message: String) -> CloudError {
            CloudError(
                .invalidResponse,
                "The answer to \(endpoint.method) \(endpoint.path) \(message)",
                httpStatus: response.status,
                isOutcomeUnknown: !endpoint.isRead
            )
        }
        guard let json else { throw unreadable("is not JSON, or too large") }
        do throws(Schema.Objection) {
            return CloudResponse(try read(try endpoint.output.readTolerantly(json)), date: date, json: json)
        } catch {
            // The objection names the member, without its value, which may be personal.
            throw unreadable("cannot be read: \(error.message)")
        }
    }
}

/// Decides whether a failed call is retried.
struct Retries {
    private(set) var remaining: Int
    private var backoff: Duration = .milliseconds(250)
    private let longestWait: Duration

    init(remaining: Int, longestWait: Duration) {
        (self.remaining, self.longestWait) = (remaining, longestWait)
    }

    /// Returns the wait before the next attempt; `nil` if there is none.
    mutating func delay(after error: CloudError) -> Duration? {
        guard self.remaining > 0, error.mayPass else { return nil }
        let delay = max(self.backoff, error.retryAfter ?? .zero)
        guard delay <= self.longestWait else { return nil }
        self.remaining -= 1
        self.backoff *= 4
        return delay
    }
}
