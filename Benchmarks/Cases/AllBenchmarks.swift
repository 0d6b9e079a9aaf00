/// Every case. One that is added here is measured, listed, drawn and reported.
let allBenchmarks: [Benchmark] =
    protocolBenchmarks + listBenchmarks + transportBenchmarks + pollBenchmarks + approvalBenchmarks + fleetBenchmarks
