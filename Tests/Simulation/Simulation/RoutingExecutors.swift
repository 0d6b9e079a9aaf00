import CRuntimeHooks
@_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency

/// The executors of the whole program: a thread with a simulator passes its jobs to it, any other thread to the default
/// executors.
///
/// Only this file uses internals of the toolchain.
struct RoutingExecutors: ExecutorFactory {
    static let mainExecutor: any MainExecutor = RoutingMainExecutor()
    static let defaultExecutor: any TaskExecutor = RoutingExecutor.shared

    static func install() { _createExecutors(factory: Self.self) }
}

final class RoutingExecutor: TaskExecutor, SchedulingExecutor {
    static let shared = RoutingExecutor()

    /// The executor and its witness table, as the runtime passes them.
    ///
    /// Both are constant and live as long as the program, so any thread may read them.
    nonisolated(unsafe) static let reference = unsafeBitCast(
        UnownedTaskExecutor(ordinary: RoutingExecutor.shared),
        to: (executor: UnsafeRawPointer, witnessTable: UnsafeRawPointer).self
    )

    func enqueue(_ job: consuming ExecutorJob) {
        guard simulation_current() == nil else {
            return simulation_accept(unsafeBitCast(UnownedJob(job), to: UnsafeRawPointer.self), -1)
        }
        simulation_count_foreign()
        PlatformExecutorFactory.defaultExecutor.enqueue(job)
    }

    func enqueue<C: Clock>(_ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C) {
        guard simulation_current() == nil,
            let platform = PlatformExecutorFactory.defaultExecutor as? any SchedulingExecutor
        else {
            let nanoseconds = (delay as? Duration)?.nanoseconds ?? 0
            return simulation_accept(unsafeBitCast(UnownedJob(job), to: UnsafeRawPointer.self), max(0, nanoseconds))
        }
        platform.enqueue(job, after: delay, tolerance: tolerance, clock: clock)
    }

    func enqueue<C: Clock>(_ job: consuming ExecutorJob, at instant: C.Instant, tolerance: C.Duration?, clock: C) {
        self.enqueue(job, after: clock.now.duration(to: instant), tolerance: tolerance, clock: clock)
    }
}

/// The simulator runs jobs of the main actor as well; a simulated world has no main thread.
final class RoutingMainExecutor: MainExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        if let simulator = Simulator.current {
            simulator.enqueue(UnownedJob(job), on: self.asUnownedSerialExecutor())
        } else {
            PlatformExecutorFactory.mainExecutor.enqueue(job)
        }
    }

    func run() throws { try PlatformExecutorFactory.mainExecutor.run() }
    func stop() { PlatformExecutorFactory.mainExecutor.stop() }
    var isMainExecutor: Bool { true }
    func checkIsolated() { PlatformExecutorFactory.mainExecutor.checkIsolated() }
}
