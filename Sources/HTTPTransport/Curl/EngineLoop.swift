import CCurl

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// The side of the engine that lives on its thread: libcurl's multi handle, driven by epoll.
final class EngineLoop {
    private let engine: Engine
    private let multi: UnsafeMutableRawPointer
    private let epoll: Int32

    private var queue: TransferQueue<Transfer>
    private var active: [ObjectIdentifier: EasyHandle] = [:]
    /// Handles that wait for their next transfer; never more than were in use at once.
    private var spare: [EasyHandle] = []
    private var sockets = SocketTable()
    /// When libcurl wants to be called, if nothing happens before.
    private var timer: ContinuousClock.Instant?
    /// When to look for transfers whose time ran out while they waited for their turn.
    private var queueCheck: ContinuousClock.Instant?
    /// Resumed together, after libcurl's work is done, so that its sockets do not wait for the callers.
    private var results: [(continuation: Transfer.Continuation, result: Result<HTTPResponse, HTTPTransportError>)] = []

    init(engine: Engine) throws(HTTPTransportError) {
        guard let multi = curl_multi_init() else {
            throw HTTPTransportError(.connectionFailed, detail: "out of memory")
        }
        let epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard epoll >= 0 else {
            curl_multi_cleanup(multi)
            throw HTTPTransportError(.connectionFailed, detail: "out of file descriptors")
        }
        self.engine = engine
        self.multi = multi
        self.epoll = epoll
        self.queue = TransferQueue(
            limitPerHost: engine.configuration.maximumRequestsPerHost,
            limitInTotal: engine.configuration.maximumConnections
        )
        self.configureMulti()
        self.change(.add(EPOLLIN.rawValue), on: engine.wakeup)
    }

    deinit {
        self.spare.removeAll()
        curl_multi_cleanup(self.multi)  // closes the kept connections
        close(self.epoll)
    }

    /// Works until the engine is stopped; then every transfer has ended with an error.
    func run() {
        while case .perform(let commands) = self.engine.collect() {
            for command in commands { self.perform(command) }
            self.advance()
            // After commands, callers may have left more meanwhile: look once more before sleeping.
            self.waitForEvents(mayBlock: commands.isEmpty)
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
            // One that still waits for its turn is passed over when that comes.
            guard let handle = self.active[ObjectIdentifier(transfer)] else { return }
            self.remove(handle)
            handle.abandon()
        }
    }

    /// Does whatever can be done without waiting.
    private func advance() {
        self.startTransfers()
        if let timer = self.timer, timer <= .now {
            self.timer = nil
            self.drive(CURL_SOCKET_TIMEOUT, 0)
        }
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
        handle.installSocketCallbacks(context: Unmanaged.passUnretained(self).toOpaque())
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

    /// Takes the handle off the wire and makes it available for the next transfer.
    private func remove(_ handle: EasyHandle) {
        curl_multi_remove_handle(self.multi, handle.curl)
        if handle.isReusable { self.spare.append(handle) }
        guard let transfer = handle.transfer else { return }
        self.active[ObjectIdentifier(transfer)] = nil
        self.queue.finish(host: transfer.origin)
    }

    private func complete(_ transfer: Transfer, _ result: Result<HTTPResponse, HTTPTransportError>) {
        if let continuation = transfer.finish() { self.results.append((continuation, result)) }
    }

    /// Ends what ran out of time while it waited for its turn; libcurl watches over the others.
    ///
    /// Looks no more than twenty times a second, since looking costs time for each that waits.
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
            self.remove(handle)
            handle.abandon()
            self.complete(transfer, .failure(error))
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
    fileprivate static let timeoutWhileWaiting = Self(.timeout, detail: "no connection became free in time")
}

// MARK: - Sockets

extension EngineLoop {
    private func configureMulti() {
        let this = Unmanaged.passUnretained(self).toOpaque()
        let limit = self.engine.configuration.maximumConnections
        CCurl_multi_set_long(self.multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, limit)
        CCurl_multi_set_long(self.multi, CURLMOPT_MAXCONNECTS, limit)
        CCurl_multi_set_long(self.multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        CCurl_multi_set_pointer(self.multi, CURLMOPT_SOCKETDATA, this)
        CCurl_multi_set_pointer(self.multi, CURLMOPT_TIMERDATA, this)
        CCurl_multi_set_socket_function(self.multi) { _, socket, what, context, _ in
            guard let context else { return -1 }
            Unmanaged<EngineLoop>.fromOpaque(context).takeUnretainedValue().watch(socket, what)
            return 0
        }
        CCurl_multi_set_timer_function(self.multi) { _, milliseconds, context in
            guard let context else { return -1 }
            let loop = Unmanaged<EngineLoop>.fromOpaque(context).takeUnretainedValue()
            loop.timer = milliseconds < 0 ? nil : .now + .milliseconds(milliseconds)
            return 0
        }
    }

    private func watch(_ socket: Int32, _ what: Int32) {
        let events: UInt32 =
            switch what {
            case CURL_POLL_IN: EPOLLIN.rawValue
            case CURL_POLL_OUT: EPOLLOUT.rawValue
            case CURL_POLL_INOUT: EPOLLIN.rawValue | EPOLLOUT.rawValue
            default: 0
            }
        self.change(self.sockets.want(events, on: socket), on: socket)
    }

    private func change(_ change: SocketTable.Change, on socket: Int32) {
        func control(_ operation: Int32, _ events: UInt32) -> Int32 {
            var event = epoll_event(events: events, data: epoll_data_t(fd: socket))
            return epoll_ctl(self.epoll, operation, socket, &event)
        }
        switch change {
        case .none: break
        case .add(let events): _ = control(EPOLL_CTL_ADD, events)
        case .modify(let events): _ = control(EPOLL_CTL_MOD, events)
        case .delete: _ = control(EPOLL_CTL_DEL, 0)
        }
    }

    private func waitForEvents(mayBlock: Bool) {
        let capacity = 128
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: capacity) { events in
            let count = epoll_wait(
                self.epoll,
                events.baseAddress,
                Int32(capacity),
                mayBlock ? self.sleepMilliseconds : 0
            )
            for event in events.prefix(Int(max(0, count))) { self.handle(event) }
        }
    }

    /// -1 for as long as it takes.
    private var sleepMilliseconds: Int32 {
        guard let next = [self.timer, self.queueCheck].compactMap({ $0 }).min() else { return -1 }
        let duration = ContinuousClock.Instant.now.duration(to: next)
        return duration <= .zero ? 0 : Int32(clamping: duration.roundedUpMilliseconds)
    }

    private func handle(_ event: epoll_event) {
        let socket = event.data.fd
        guard socket != self.engine.wakeup else {
            var count: eventfd_t = 0
            eventfd_read(socket, &count)
            return
        }
        guard self.sockets.ready(socket) == .tellCurl else {
            // An idle connection was closed by the server. libcurl finds out before it reuses it, but only while no
            // error is pending on the socket: a reset would look alive to it.
            var (error, length) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
            getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length)
            return self.change(.delete, on: socket)
        }
        var mask: Int32 = 0
        if event.events & (EPOLLIN.rawValue | EPOLLHUP.rawValue) != 0 { mask |= CURL_CSELECT_IN }
        if event.events & EPOLLOUT.rawValue != 0 { mask |= CURL_CSELECT_OUT }
        if event.events & EPOLLERR.rawValue != 0 { mask |= CURL_CSELECT_ERR }
        self.drive(socket, mask)
    }

    private func drive(_ socket: curl_socket_t, _ events: Int32) {
        var running: Int32 = 0
        curl_multi_socket_action(self.multi, socket, events, &running)
    }

    fileprivate func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
        let address = address.pointee
        // A connection must not leak into programs that this process starts: the server would never see it close.
        let descriptor = socket(address.family, address.socktype | Int32(SOCK_CLOEXEC.rawValue), address.protocol)
        if descriptor >= 0 { self.sockets.opened(descriptor) }
        return descriptor
    }

    fileprivate func closeSocket(_ socket: Int32) -> Int32 {
        self.sockets.closed(socket)
        return close(socket)
    }
}

extension EasyHandle {
    /// Lets the loop hear of every socket that is opened or closed for this handle.
    ///
    /// `context` is the loop, unretained: connections live no longer than the multi handle, which the loop owns.
    fileprivate func installSocketCallbacks(context: UnsafeMutableRawPointer) {
        CCurl_easy_set_pointer(self.curl, CURLOPT_OPENSOCKETDATA, context)
        CCurl_easy_set_pointer(self.curl, CURLOPT_CLOSESOCKETDATA, context)
        CCurl_easy_set_open_socket_function(self.curl) { context, _, address in
            guard let context, let address else { return CURL_SOCKET_BAD }
            return Unmanaged<EngineLoop>.fromOpaque(context).takeUnretainedValue().open(address)
        }
        CCurl_easy_set_close_socket_function(self.curl) { context, socket in
            guard let context else { return close(socket) }
            return Unmanaged<EngineLoop>.fromOpaque(context).takeUnretainedValue().closeSocket(socket)
        }
    }
}
