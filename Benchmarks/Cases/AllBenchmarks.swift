/// Every case. One that is added here is measured, listed, drawn and reported.
///
/// Fleets come before what leaves threads or freed memory behind, for theirs is counted.
let allBenchmarks: [Benchmark] =
    protocolBenchmarks + version4Benchmarks + listBenchmarks + fleetBenchmarks + pollBenchmarks + approvalBenchmarks
    + countBenchmarks
    + askBenchmarks + emulatorBenchmarks + consoleBenchmarks + storeBenchmarks + receiptBenchmarks + postgresBenchmarks
    + transportBenchmarks
