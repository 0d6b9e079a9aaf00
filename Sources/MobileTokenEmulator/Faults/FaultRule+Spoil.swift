import Basics
import EmulatorMessages

extension FaultRule.Effect {
    /// Returns what a response becomes under the fault; what drips waits on `clock`.
    func spoil(_ response: ServerResponse, _ clock: any Clock<Duration>) -> ServerResponse {
        let bytes = response.bytes
        var response = response
        guard self.reset == nil else {
            response.body = .reset
            return response
        }
        if let retryAfter = self.retryAfter { response.headers.append(("Retry-After", String(retryAfter))) }
        if let contentType = self.contentType {
            response.headers.removeAll { $0.name.equalsIgnoringASCIICase("Content-Type") }
            response.headers.append(("Content-Type", contentType))
        }
        let body = self.body == .garbage ? Array(#"{"status":"OK","responseObject":[{"#.utf8) : bytes
        switch (self.body == .truncated, self.drip) {
        case (false, nil):
            response.body = .bytes(body)
        case (true, nil):
            response.body = .produced(length: body.count) { stream in
                stream.write(body.prefix(body.count / 2))
                stream.abort()
            }
        case (let isTruncated, let rate?):
            response.body = .produced(length: body.count) { stream in
                await stream.drip(isTruncated ? body.prefix(body.count / 2) : body[...], bytesPerSecond: rate, clock)
                if isTruncated { stream.abort() }
            }
        }
        return response
    }

    /// The number of bytes that are written at once, and the pause after them. Nothing is slower than a byte a second.
    static func dripping(bytesPerSecond rate: Int) -> (portion: Int, pause: Duration) {
        let rate = max(1, rate)
        let portion = max(1, rate / 10)
        return (portion, .seconds(Double(portion) / Double(rate)))
    }
}

extension BodyWriter {
    /// Writes in ten portions a second, or byte by byte when that is slower.
    fileprivate func drip(
        _ bytes: ArraySlice<UInt8>,
        bytesPerSecond rate: Int,
        _ clock: any Clock<Duration>
    ) async {
        let (portion, pause) = FaultRule.Effect.dripping(bytesPerSecond: rate)
        var rest = bytes
        while !rest.isEmpty, !self.isClosed {
            self.write(rest.prefix(portion))
            rest = rest.dropFirst(portion)
            do { try await clock.sleep(for: pause) } catch { return self.abort() }
        }
    }
}
