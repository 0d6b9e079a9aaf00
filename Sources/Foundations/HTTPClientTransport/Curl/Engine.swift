import CCurl
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// The engine's interface for callers on any thread.
final class Engine: Sendable {
    enum Command: Sendable {
        case start(Transfer)
        case cancel(Transfer)
    }

    let configuration: CurlTransport.Configuration
    /// The eventfd that wakes the thread.
    let wakeup: Int32

    typealias State = EngineState<Command, CheckedContinuation<Void, Never>>
    let state = Mutex(State())

    /// The result of libcurl's global initialization.
    private static let globalResult = curl_global_init(Int(CURL_GLOBAL_DEFAULT))

    /// Runs a body in a new thread. Returns 0, or an error number without running it.
    typealias ThreadStart = @Sendable (_ body: @escaping @Sendable () -> Void) -> CInt
    private let startDetached: ThreadStart

    init(
        configuration: CurlTransport.Configuration,
        startDetached: @escaping ThreadStart = Engine.startDetached
    ) throws(HTTPTransportError) {
        guard Self.globalResult == CURLE_OK else {
            throw HTTPTransportError(.invalidConfiguration, detail: "libcurl cannot be initialized")
        }
        // Setting the options once reports errors to the caller.
        _ = try EasyHandle(configuration: configuration)
        let wakeup = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard wakeup >= 0 else { throw HTTPTransportError(.connectionFailed, detail: "out of file descriptors") }
        self.configuration = configuration
        self.wakeup = wakeup
        self.startDetached = startDetached
    }

    deinit { close(self.wakeup) }

    /// Begins a transfer. `continuation` is resumed once, here or on the engine's thread.
    func start(_ transfer: Transfer, resuming continuation: Transfer.Continuation) {
        switch transfer.state.withLock({ $0.start(continuation) }) {
        case .cancel(let continuation): continuation.resume(throwing: CancellationError())
        case .start: self.post(.start(transfer))
        }
    }

    /// Ends the call now; the thread then ends the transfer.
    func cancel(_ transfer: Transfer) {
        guard let continuation = transfer.state.withLock({ $0.cancel() }) else { return }
        self.post(.cancel(transfer))
        continuation.resume(throwing: CancellationError())
    }

    /// Asks the thread to end. May be called repeatedly.
    func stop() {
        if self.state.withLock({ $0.stop() }) == .wakeThread { self.wake() }
    }

    func waitUntilStopped() async {
        await withCheckedContinuation { continuation in
            if self.state.withLock({ $0.waitUntilStopped(continuation) }) == .resume { continuation.resume() }
        }
    }

    private func post(_ command: Command) {
        switch self.state.withLock({ $0.post(command) }) {
        case .nothing: break
        case .wakeThread: self.wake()
        case .startThread: self.startThread()
        case .refuse: Self.refuse(command, HTTPTransportError(.shutdown))
        }
    }

    private func wake() {
        eventfd_write(self.wakeup, 1)  // fails only when the counter is full, and then the thread is awake anyway
    }

    private static func refuse(_ command: Command, _ error: HTTPTransportError) {
        guard case .start(let transfer) = command else { return }
        transfer.state.withLock { $0.finish() }?.resume(throwing: error)
    }
}

// MARK: - The thread

extension Engine {
    private func startThread() {
        let result = self.startDetached { self.runThread() }
        guard result != 0 else { return }
        let error = HTTPTransportError(
            .connectionFailed,
            detail: "no thread could be started: \(Self.meaning(of: result))"
        )
        self.endThread(self.state.withLock { $0.threadFailed() }, error)
    }

    private static func meaning(of error: CInt) -> String { strerror(error).map { String(cString: $0) } ?? "\(error)" }

    private final class ThreadBody: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    static let startDetached: ThreadStart = { body in
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))

        let context = Unmanaged.passRetained(ThreadBody(body))
        var thread = pthread_t()
        let result = pthread_create(
            &thread,
            &attributes,
            { context in
                guard let context else { return nil }
                Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run()
                return nil
            },
            context.toOpaque()
        )
        if result != 0 { context.release() }
        return result
    }

    private func runThread() {
        CCurl_name_thread("mobile-token-io")
        // Signals belong to the program's own threads. A SIGPIPE from a broken connection stays pending here.
        var signals = sigset_t()
        sigfillset(&signals)
        pthread_sigmask(SIG_SETMASK, &signals, nil)

        do throws(HTTPTransportError) {
            try EngineLoop(engine: self).run()
            self.endThread(self.state.withLock { $0.threadEnded() }, HTTPTransportError(.shutdown))
        } catch {
            self.endThread(self.state.withLock { $0.threadEnded() }, error)
        }
    }

    private func endThread(_ rest: State.Rest, _ error: HTTPTransportError) {
        for command in rest.commands { Self.refuse(command, error) }
        for waiter in rest.waiters { waiter.resume() }
    }
}
