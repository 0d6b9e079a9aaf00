import CCurl
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// The engine's part on its thread: libcurl's multi handle, driven by `curl_multi_poll`.
final class EngineLoop {
    private let engine: Engine
    private let multi: UnsafeMutableRawPointer

    private var queue: TransferQueue<Transfer>
    private var active: [ObjectIdentifier: EasyHandle] = [:]
    /// Idle handles; never more than were in use at once.
    private var spare: [EasyHandle] = []
    /// The time of the next search for waiting transfers that timed out.
    private var queueCheck: ContinuousClock.Instant?
    /// Resumed together after libcurl's work, so that its sockets do not wait for the callers.
    private var results: [(continuation: Transfer.Continuation, result: Result<HTTPResponse, HTTPTransportError>)] = []

    init(engine: Engine) throws(HTTPTransportError) {
        guard let multi = curl_multi_init() else {
            throw HTTPTransportError(.connectionFailed, detail: "out of memory")
        }
        self.engine = engine
        self.multi = multi
        self.queue = TransferQueue(
            limitPerHost: engine.configuration.maximumRequestsPerHost,
            limitInTotal: engine.configuration.maximumConnections
        )
        let limit = engine.configuration.maximumConnections
        CCurl_multi_set_long(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, limit)
        CCurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, limit)
        CCurl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        // The default is 100. The queue's limit applies, and the server's.
        CCurl_multi_set_long(
            multi,
            CURLMOPT_MAX_CONCURRENT_STREAMS,
            engine.configuration.maximumRequestsPerHost
        )
    }

    deinit {
        self.spare.removeAll()
        // Closes the kept connections. On this thread, because closing TLS may raise SIGPIPE.
        curl_multi_cleanup(self.multi)
    }

    /// Runs until the engine is stopped and every transfer has ended.
    func run() {
        while case .perform(var commands) = self.engine.state.withLock({ $0.collect() }) {
            // libcurl examines every transfer at each call, so it is called once for all new commands.
            if commands.isEmpty {
                self.waitForEvents()
                guard case .perform(let more) = self.engine.state.withLock({ $0.collect() }) else { break }
                commands = more
            }
            for command in commands { self.perform(command) }
            self.advance()
        }
        self.failEverything(HTTPTransportError(.shutdown))
    }
}

// MARK: - Transfers

extension EngineLoop {
    private func perform(_ command: Engine.Command) {
        switch command {
        case .start(let transfer):
            self.queue.append(transfer, host: transfer.origin)
        case .cancel(let transfer):
            // A transfer that still waits is skipped in its turn.
            guard let handle = self.active[ObjectIdentifier(transfer)] else { return }
            self.remove(handle)
            handle.abandon()
        }
    }

    /// Does all work that needs no waiting.
    private func advance() {
        self.startTransfers()
        var running: Int32 = 0
        curl_multi_perform(self.multi, &running)
        self.finishTransfers()
        self.startTransfers()
        self.expireWaiting()

        for (continuation, result) in self.results { continuation.resume(with: result.mapError { $0 }) }
        self.results.removeAll(keepingCapacity: true)
    }

    private func startTransfers() {
        while let transfer = self.queue.next() {
            guard !transfer.isFinished else {
                self.queue.finish(host: transfer.origin)
                continue
            }
            do throws(HTTPTransportError) {
                try self.start(transfer)
            } catch {
                self.queue.finish(host: transfer.origin)
                self.complete(transfer, .failure(error))
            }
        }
    }

    private func start(_ transfer: Transfer) throws(HTTPTransportError) {
        let timeLeft = ContinuousClock.Instant.now.duration(to: transfer.deadline)
        guard timeLeft > .zero else { throw .timeoutWhileWaiting }
        let handle = if let spare = self.spare.popLast() { spare } else { try self.makeHandle() }
        do throws(HTTPTransportError) {
            try handle.prepare(transfer, timeLeft: timeLeft)
            guard curl_multi_add_handle(self.multi, handle.curl) == CURLM_OK else {
                throw HTTPTransportError(.connectionFailed, detail: "the transfer could not be started")
            }
        } catch {
            handle.abandon()
            throw error
        }
        self.active[ObjectIdentifier(transfer)] = handle
    }

    private func makeHandle() throws(HTTPTransportError) -> EasyHandle {
        let handle = try EasyHandle(configuration: self.engine.configuration)
        CCurl_easy_set_open_socket_function(handle.curl) { _, _, address in
            guard let address = address?.pointee else { return CURL_SOCKET_BAD }
            // Child programs must not inherit a connection: the server would never see it close.
            return socket(address.family, address.socktype | Int32(SOCK_CLOEXEC.rawValue), address.protocol)
        }
        return handle
    }

    private func finishTransfers() {
        var remaining: Int32 = 0
        while let message = curl_multi_info_read(self.multi, &remaining) {
            guard message.pointee.msg == CURLMSG_DONE, let curl = message.pointee.easy_handle,
                let handle = EasyHandle.of(curl)
            else { continue }
            let code = message.pointee.data.result  // the message does not outlive the handle's removal
            self.remove(handle)
            guard let transfer = handle.transfer else { continue }
            self.complete(transfer, handle.finish(code))
        }
    }

    /// Ends the handle's transfer and makes the handle available.
    private func remove(_ handle: EasyHandle) {
        curl_multi_remove_handle(self.multi, handle.curl)
        if handle.isReusable { self.spare.append(handle) }
        guard let transfer = handle.transfer else { return }
        self.active[ObjectIdentifier(transfer)] = nil
        self.queue.finish(host: transfer.origin)
    }

    private func complete(_ transfer: Transfer, _ result: Result<HTTPResponse, HTTPTransportError>) {
        if let continuation = transfer.state.withLock({ $0.finish() }) { self.results.append((continuation, result)) }
    }

    /// Ends waiting transfers that timed out; libcurl does so for the others. Limited to twenty searches a second, because each
    /// one visits every waiting transfer.
    private func expireWaiting() {
        guard self.queue.waiting > 0 else {
            self.queueCheck = nil
            return
        }
        let now = ContinuousClock.Instant.now
        if let queueCheck = self.queueCheck, now < queueCheck { return }
        var expired: [Transfer] = []
        self.queue.removeWaiting { transfer in
            let isExpired = transfer.deadline <= now
            if isExpired { expired.append(transfer) }
            return isExpired || transfer.isFinished
        }
        for transfer in expired { self.complete(transfer, .failure(.timeoutWhileWaiting)) }
        self.queueCheck = now + .milliseconds(50)
    }

    private func failEverything(_ error: HTTPTransportError) {
        for handle in Array(self.active.values) {
            guard let transfer = handle.transfer else { continue }
            let end = handle.mayHaveSent ? error.afterFirstByte : error
            self.remove(handle)
            handle.abandon()
            self.complete(transfer, .failure(end))
        }
        self.queue.removeWaiting { transfer in
            self.complete(transfer, .failure(error))
            return true
        }
        for (continuation, result) in self.results { continuation.resume(with: result.mapError { $0 }) }
        self.results.removeAll()
    }
}

extension HTTPTransportError {
    fileprivate static let timeoutWhileWaiting = Self(.connectionFailed, detail: "no connection became free in time")
}

// MARK: - Waiting

extension EngineLoop {
    /// Sleeps until a connection is ready, a libcurl timer fires, or a caller wakes the thread.
    private func waitForEvents() {
        // Not `curl_multi_wakeup`: a caller could use it after the multi handle is freed. Callers keep the engine alive, which
        // owns the eventfd.
        var wakeup = curl_waitfd(fd: self.engine.wakeup, events: Int16(CURL_WAIT_POLLIN), revents: 0)
        if curl_multi_poll(self.multi, &wakeup, 1, self.sleepMilliseconds, nil) != CURLM_OK {
            usleep(1000)  // out of memory: it returned at once, and would again
        }
        guard wakeup.revents != 0 else { return }
        var count: eventfd_t = 0
        eventfd_read(self.engine.wakeup, &count)
    }

    /// The time until the next search; otherwise unlimited, because libcurl wakes for running transfers.
    private var sleepMilliseconds: Int32 {
        guard let queueCheck = self.queueCheck else { return .max }
        let duration = ContinuousClock.Instant.now.duration(to: queueCheck)
        return duration <= .zero ? 0 : Int32(clamping: duration.roundedUpMilliseconds)
    }
}
