import APIDescriptions
import EmulatorMessages
import ExactJSON

extension ServerResponse {
    /// All changes as server-sent events: first `ready`, after which no change is missed.
    static func events(_ events: AsyncStream<Emulator.Event>, _ clock: any Clock<Duration>) -> ServerResponse {
        let headers = [
            ("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"), ("X-Accel-Buffering", "no"),
        ]
        let body = Body.produced(length: nil) { stream in
            stream.write("retry: 1000\nevent: ready\ndata: {}\n\n".utf8)
            await withTaskGroup { group in
                group.addTask {
                    for await event in events where !stream.isClosed {
                        let data = event.json.serialized()
                        stream.write(
                            Array("id: \(event.number)\nevent: \(event.kind.rawValue)\ndata: ".utf8) + data + [10, 10]
                        )
                    }
                }
                group.addTask {
                    // Only writing shows that a client is gone.
                    while !stream.isClosed, (try? await clock.sleep(for: .seconds(10))) != nil {
                        stream.write(":\n\n".utf8)
                    }
                }
                await group.next()
                group.cancelAll()
            }
        }
        return ServerResponse(status: 200, headers: headers.map { (name: $0.0, value: $0.1) }, body: body)
    }
}
