// swift-tools-version: 6.2
import PackageDescription

// Each target may import only what it declares, and depend only on targets above it: `Scripts/check-imports` looks.
let package = Package(
    name: "swift-mobile-token",
    products: [
        .library(name: "MobileToken", targets: ["MobileToken"]),
        // What a server tells besides the list: the inbox, push messages, and callbacks.
        .library(name: "MobileTokenNotifications", targets: ["MobileTokenNotifications"]),
        // Operations in QR codes, without a network.
        .library(name: "MobileTokenOffline", targets: ["MobileTokenOffline"]),
        // What an app needs that shows operations to a person: codes of presence, the path through screens, what has expired.
        .library(name: "MobileTokenScreens", targets: ["MobileTokenScreens"]),
        // Observers of one's own: what they are told. Logs and metrics of the traits need nothing of it.
        .library(name: "MobileTokenObserving", targets: ["MobileTokenObserving"]),
        // Receipts compared with the bank's history.
        .library(name: "MobileTokenReconciliation", targets: ["MobileTokenReconciliation"]),
        // What belongs to the protocol: device keys, endpoints of one's own, the vault, tokens, other ways to activate.
        .library(name: "PowerAuth", targets: ["PowerAuth"]),
        // Receipts in files: exported, signed, verified and erased. An auditor needs nothing else.
        .library(name: "MobileTokenReceipts", targets: ["MobileTokenReceipts"]),
        // Asking for approvals, and acting once on them.
        .library(name: "MobileTokenApprovals", targets: ["MobileTokenApprovals"]),
        // For pins and proxies, and for transports of one's own. Its names are those of other packages, too.
        .library(name: "HTTPClientTransport", targets: ["HTTPClientTransport"]),
        // JSON without loss, whose names other packages use too: for who reads raw members, or gives an action as JSON.
        .library(name: "ExactJSON", targets: ["ExactJSON"]),
        // Many machines with one PostgreSQL database. Nothing else needs libpq.
        .library(name: "MobileTokenPostgres", targets: ["MobileTokenPostgres"]),
        // For back ends that ask: the client of PowerAuth Cloud.
        .library(name: "MobileTokenCloud", targets: ["MobileTokenCloud"]),
        .library(name: "MobileTokenEmulator", targets: ["MobileTokenEmulator"]),
        .library(name: "MobileTokenTesting", targets: ["MobileTokenTesting"]),
        .executable(name: "mobile-token", targets: ["mobile-token"]),
        .executable(name: "mobile-token-emulator", targets: ["mobile-token-emulator"]),
        .executable(name: "mobile-token-postgres", targets: ["mobile-token-postgres"]),
    ],
    // The neighbors of a server, none of which is fetched unless its trait is on.
    traits: ["Logging", "Metrics", "Tracing", "ServiceLifecycle", "AsyncHTTPClient"],
    dependencies: [
        .package(url: "https://github.com/apple/swift-log.git", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.3.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.6.0"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.24.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.81.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.30.0"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.26.0"),
    ],
    targets: [
        // System libraries: a module map each, nothing more.
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CMicroHTTPD", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CQREncode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),

        // Foundations: numbers, durations and strings from outside, which must neither trap nor deceive; JSON without loss.
        // No product has `Basics` and `Coordination`; they are public since the compiler inlines nothing else into other modules.
        .target(name: "Basics"),
        .target(name: "ExactJSON", dependencies: ["Basics"]),
        // What tasks wait for: signals, semaphores, deadlines, broadcasts, work that is shared.
        .target(name: "Coordination", dependencies: ["Basics"]),
        // The clock that tests move by hand.
        .target(name: "TestClock", dependencies: ["Coordination"]),
        // SQLite made safe: a connection, its statements, its schema.
        .target(name: "SQLiteDatabase", dependencies: ["CSQLite"]),
        // PostgreSQL made safe: a connection, its statements, a pool.
        .target(name: "PostgresDatabase", dependencies: ["CPostgreSQL", "Coordination", "Basics"]),

        // The SDK, from the ground up.
        // libcrypto, which must stay whole until the process has ended.
        .target(name: "COpenSSLLifetime", dependencies: ["COpenSSL"]),
        .target(name: "PowerAuthCrypto", dependencies: ["COpenSSL", "COpenSSLLifetime"]),
        .target(name: "PowerAuthProtocol", dependencies: ["PowerAuthCrypto", "Basics", "ExactJSON"]),
        .target(name: "HTTPClientTransport", dependencies: ["CCurl", "Basics"]),
        // Decisions as values: the intent, its charges to limits, the outcome, and the receipt of both.
        .target(
            name: "DecisionReceipts",
            dependencies: ["PowerAuthProtocol", "PowerAuthCrypto", "Basics", "ExactJSON"]
        ),
        // What is thrown, and what an observer is told.
        .target(name: "MobileTokenErrors", dependencies: ["DecisionReceipts", "Basics"]),
        .target(name: "MobileTokenObserving", dependencies: ["MobileTokenErrors", "DecisionReceipts"]),
        // One activation, its signatures and its store: what `MobileToken` shows of the protocol.
        .target(
            name: "PowerAuthClient",
            dependencies: [
                "MobileTokenObserving", "MobileTokenErrors", "DecisionReceipts", "PowerAuthProtocol", "PowerAuthCrypto",
                "HTTPClientTransport", "SQLiteDatabase", "Coordination", "Basics", "ExactJSON",
            ]
        ),
        .target(
            name: "PowerAuth",
            dependencies: [
                "MobileTokenObserving", "MobileTokenErrors", "DecisionReceipts", "PowerAuthClient", "PowerAuthProtocol",
                "PowerAuthCrypto", "HTTPClientTransport",
                "Basics",
                "ExactJSON",
            ]
        ),
        .target(
            name: "MobileTokenReceipts",
            dependencies: [
                "PowerAuth", "DecisionReceipts", "PowerAuthClient", "PowerAuthCrypto", "Coordination", "Basics",
                "ExactJSON",
            ]
        ),
        // The data that are signed, and what strings for people say of money and accounts: the approving and the asking half compare.
        .target(
            name: "SignedContent",
            dependencies: ["Basics", "ExactJSON"],
            resources: [.embedInCode("CurrencyNames.txt")]
        ),
        // The screens of a person who approves, as a server describes them.
        .target(name: "OperationScreens", dependencies: ["Basics", "ExactJSON"]),
        .target(
            name: "MobileToken",
            dependencies: [
                "MobileTokenObserving", "MobileTokenErrors", "SignedContent", "PowerAuth", "DecisionReceipts",
                "PowerAuthClient", "PowerAuthProtocol", "OperationScreens",
                "PowerAuthCrypto", "Coordination", "Basics", "ExactJSON",
            ]
        ),
        .target(
            name: "MobileTokenNotifications",
            dependencies: [
                "MobileToken", "MobileTokenErrors", "PowerAuth", "PowerAuthClient", "Coordination", "Basics",
                "ExactJSON",
            ]
        ),
        .target(
            name: "MobileTokenOffline",
            dependencies: [
                "MobileToken", "SignedContent", "PowerAuth", "PowerAuthClient", "PowerAuthProtocol", "PowerAuthCrypto",
                "Basics",
            ]
        ),
        .target(
            name: "MobileTokenScreens",
            dependencies: [
                "MobileToken", "OperationScreens", "PowerAuthClient", "PowerAuthCrypto", "Coordination", "Basics",
                "ExactJSON",
            ]
        ),
        .target(
            name: "MobileTokenReconciliation",
            dependencies: [
                "MobileToken", "MobileTokenReceipts", "PowerAuth", "DecisionReceipts", "PowerAuthClient", "Basics",
            ]
        ),

        // The development server shares the protocol's arithmetic with the SDK, and nothing else: only its virtual devices, in
        // `MobileTokenEmulator/Devices`, are the SDK. Its bank knows neither sockets nor clocks, its HTTP server knows nothing
        // of the bank; requests and responses are all they share.
        //
        // Calls described once: their form, their readers and writers, their words in OpenAPI.
        .target(name: "APIDescriptions", dependencies: ["Basics", "ExactJSON"]),
        // The calls of PowerAuth Cloud as values, which the development server answers, and the client that sends them.
        .target(
            name: "MobileTokenCloud",
            dependencies: ["APIDescriptions", "HTTPClientTransport", "Coordination", "Basics", "ExactJSON"]
        ),
        // The half that asks: desk, ledger, binding.
        .target(
            name: "MobileTokenApprovals",
            dependencies: [
                "MobileTokenCloud", "MobileTokenReceipts", "SignedContent", "PowerAuth", "PowerAuthClient",
                "PowerAuthProtocol", "PowerAuthCrypto", "SQLiteDatabase", "Coordination", "Basics", "ExactJSON",
            ]
        ),
        // Requests, responses, tables of routes, and documents with lines.
        .target(name: "EmulatorMessages", dependencies: ["APIDescriptions", "Basics", "ExactJSON"]),
        .target(
            name: "MobileTokenPostgres",
            dependencies: [
                "MobileToken", "MobileTokenApprovals", "PowerAuth", "DecisionReceipts", "PowerAuthClient",
                "PostgresDatabase", "Coordination", "Basics",
            ]
        ),
        .target(
            name: "EmulatorBackend",
            dependencies: [
                "APIDescriptions", "MobileTokenCloud", "EmulatorMessages", "PowerAuthProtocol", "PowerAuthCrypto",
                "Basics", "ExactJSON",
            ],
            resources: [.embedInCode("Templates/BuiltIn")]
        ),
        .target(
            name: "EmulatorHTTP",
            dependencies: ["EmulatorMessages", "PowerAuthCrypto", "Coordination", "CMicroHTTPD", "Basics"]
        ),
        .target(
            name: "MobileTokenEmulator",
            dependencies: [
                "APIDescriptions", "EmulatorBackend", "EmulatorHTTP", "EmulatorMessages", "MobileToken",
                "MobileTokenCloud", "MobileTokenNotifications", "MobileTokenOffline", "PowerAuth", "DecisionReceipts",
                "PowerAuthClient", "PowerAuthProtocol", "PowerAuthCrypto", "HTTPClientTransport", "CQREncode", "CZlib",
                "SQLiteDatabase", "Coordination", "Basics", "ExactJSON",
            ],
            resources: [.embedInCode("Console/Page")]
        ),
        .target(
            name: "MobileTokenTesting",
            dependencies: [
                "MobileToken", "MobileTokenApprovals", "MobileTokenCloud", "MobileTokenEmulator", "MobileTokenErrors",
                "MobileTokenObserving", "EmulatorBackend", "EmulatorHTTP", "EmulatorMessages", "HTTPClientTransport",
                "TestClock", "Coordination", "ExactJSON", "DecisionReceipts", "PowerAuthClient",
            ]
        ),

        // Programs. What approves links no server: `mobile-token emulator` runs the other one.
        .target(
            name: "CommandLineSupport",
            dependencies: [
                "MobileToken", "MobileTokenNotifications", "MobileTokenOffline", "MobileTokenReceipts",
                "MobileTokenReconciliation", "OperationScreens", "SignedContent", "PowerAuthClient", "PowerAuthCrypto",
                "HTTPClientTransport", "Coordination", "Basics", "ExactJSON",
            ]
        ),
        // The commands of who asks. A program gives them the ledgers that it can open.
        .target(
            name: "AskCommands",
            dependencies: [
                "CommandLineSupport", "MobileTokenApprovals", "MobileTokenCloud", "PowerAuth", "PowerAuthClient",
                "PowerAuthCrypto", "HTTPClientTransport", "Coordination", "CLinux", "Basics", "ExactJSON",
            ]
        ),
        .executableTarget(
            name: "mobile-token",
            dependencies: [
                "AskCommands", "CommandLineSupport", "MobileToken", "MobileTokenNotifications", "MobileTokenObserving",
                "MobileTokenOffline", "MobileTokenReceipts", "MobileTokenReconciliation", "MobileTokenScreens",
                "PowerAuth", "DecisionReceipts", "PowerAuthProtocol", "PowerAuthCrypto", "HTTPClientTransport",
                "Basics", "ExactJSON",
            ]
        ),
        .executableTarget(
            name: "mobile-token-emulator",
            dependencies: [
                "APIDescriptions", "CommandLineSupport", "MobileToken", "MobileTokenEmulator", "MobileTokenOffline",
                "MobileTokenScreens", "EmulatorHTTP", "HTTPClientTransport", "ExactJSON", "Basics", "PowerAuthClient",
            ]
        ),
        .executableTarget(
            name: "mobile-token-postgres",
            dependencies: [
                "AskCommands", "CommandLineSupport", "MobileTokenPostgres", "MobileToken", "MobileTokenReceipts",
                "PowerAuth", "ExactJSON", "DecisionReceipts",
            ]
        ),
        // What the tests of several targets share.
        .target(name: "TestSupport"),
        // Names the facts about real servers that a test rests on.
        .target(name: "WireFacts"),
        // A store's requirements, and drivers that a test puts in front of another one.
        .target(
            name: "StoreTesting",
            dependencies: [
                "PowerAuth", "DecisionReceipts", "PowerAuthClient", "PowerAuthCrypto", "PowerAuthProtocol",
                "Basics",
            ]
        ),
        // A PostgreSQL server that a test or a benchmark may kill, stop and fill.
        .target(name: "PostgresTestServer", dependencies: ["TestSupport"]),
        // A real browser, for the tests and the benchmark of the emulator's page.
        .target(name: "HeadlessBrowser", dependencies: ["TestSupport"]),
        .target(name: "CAllocations", path: "Benchmarks/CAllocations"),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "MobileToken", "MobileTokenObserving", "MobileTokenReceipts", "MobileTokenScreens", "PowerAuth",
                "PowerAuthProtocol", "PowerAuthCrypto", "HTTPClientTransport", "MobileTokenApprovals",
                "MobileTokenCloud", "MobileTokenEmulator", "EmulatorBackend", "MobileTokenPostgres", "PostgresDatabase",
                "PostgresTestServer", "HeadlessBrowser", "COpenSSL", "CCurl", "CAllocations", "Basics",
                "SQLiteDatabase", "ExactJSON",
            ],
            path: "Benchmarks",
            exclude: ["CAllocations", "README.md"]
        ),

        // A process that works on a store until it is killed.
        .executableTarget(
            name: "StoreExerciser",
            dependencies: ["MobileToken", "PowerAuth", "StoreTesting", "HTTPClientTransport"]
        ),

        // A process that approves with a share of a PostgreSQL store until it is killed.
        .executableTarget(
            name: "NodeExerciser",
            dependencies: ["MobileToken", "MobileTokenPostgres", "PowerAuth", "HTTPClientTransport"]
        ),

        // The whole system in one thread, in an order drawn from a seed. What they need of the toolchain's own interfaces, and the
        // clocks that they put in the place of the system's, stay in the one program that links them.
        .target(name: "CRuntimeHooks"),
        .target(
            name: "Simulation",
            dependencies: [
                "CRuntimeHooks", "MobileToken", "MobileTokenApprovals", "MobileTokenPostgres", "MobileTokenScreens",
                "PowerAuth", "HTTPClientTransport", "MobileTokenCloud", "EmulatorBackend", "EmulatorMessages",
                "MobileTokenTesting", "Coordination", "Basics", "ExactJSON",
            ],
            exclude: ["README.md"]
        ),
        .executableTarget(name: "simulate", dependencies: ["Simulation"]),

        // A ledger in front of another one, which stops, fails or loses acknowledgements where a test says so.
        .target(
            name: "ApprovalTesting",
            dependencies: [
                "MobileTokenApprovals", "MobileTokenCloud", "APIDescriptions", "MobileTokenTesting",
                "HTTPClientTransport", "PowerAuth", "ExactJSON",
            ]
        ),
        // A process that asks and acts until it is killed.
        .executableTarget(
            name: "ApprovalExerciser",
            dependencies: ["MobileTokenApprovals", "MobileTokenPostgres", "ApprovalTesting"]
        ),

        // Tests. `VectorTests` holds every case of the reference implementation.
        .testTarget(
            name: "VectorTests",
            dependencies: [
                "PowerAuthProtocol", "PowerAuthCrypto", "MobileToken", "MobileTokenOffline", "EmulatorBackend",
                "ExactJSON",
            ],
            resources: [.copy("Vectors"), .copy("Vectors4")]
        ),
        .testTarget(
            name: "PowerAuthProtocolTests",
            dependencies: ["PowerAuthProtocol", "PowerAuthCrypto", "MobileTokenTesting", "Basics", "ExactJSON"]
        ),
        .testTarget(name: "BasicsTests", dependencies: ["Basics"]),
        // Runs the program.
        .testTarget(name: "SimulationTests", dependencies: ["TestSupport"], exclude: ["Cases", "Rates.json"]),
        .testTarget(name: "CoordinationTests", dependencies: ["Coordination", "TestClock", "TestSupport"]),
        .testTarget(name: "SQLiteDatabaseTests", dependencies: ["SQLiteDatabase", "TestSupport"]),
        .testTarget(
            name: "PostgresDatabaseTests",
            dependencies: ["PostgresDatabase", "PostgresTestServer", "TestSupport"]
        ),
        .testTarget(name: "HTTPClientTransportTests", dependencies: ["HTTPClientTransport", "TestSupport"]),
        .testTarget(
            name: "PowerAuthTests",
            dependencies: [
                "MobileTokenReconciliation", "MobileTokenReceipts", "PowerAuth", "DecisionReceipts", "PowerAuthClient",
                "PowerAuthProtocol", "PowerAuthCrypto", "HTTPClientTransport", "MobileTokenTesting", "CSQLite",
                "SQLiteDatabase", "APIDescriptions", "MobileTokenCloud", "EmulatorBackend", "EmulatorMessages",
                "TestSupport",
                "StoreTesting", "StoreExerciser", "Coordination", "Basics", "ExactJSON", "WireFacts",
            ]
        ),
        .testTarget(
            name: "MobileTokenApprovalsTests",
            dependencies: [
                "MobileTokenApprovals", "MobileTokenCloud", "MobileTokenTesting", "ApprovalTesting",
                "MobileTokenReceipts",
                "ApprovalExerciser", "Coordination", "Basics", "ExactJSON", "HTTPClientTransport", "TestSupport",
            ]
        ),
        .testTarget(
            name: "MobileTokenPostgresTests",
            dependencies: [
                "StoreTesting", "ApprovalTesting", "MobileTokenApprovals", "MobileTokenPostgres", "MobileToken",
                "MobileTokenReceipts", "MobileTokenTesting", "PowerAuth", "PowerAuthClient", "PostgresDatabase",
                "PostgresTestServer", "NodeExerciser", "mobile-token-postgres", "ApprovalExerciser",
                "HTTPClientTransport", "Coordination", "TestSupport", "ExactJSON",
            ]
        ),
        .testTarget(
            name: "MobileTokenTests",
            dependencies: [
                "MobileToken", "MobileTokenNotifications", "MobileTokenOffline", "MobileTokenReconciliation",
                "MobileTokenScreens", "OperationScreens", "PowerAuth", "MobileTokenTesting", "MobileTokenEmulator",
                "EmulatorMessages", "SignedContent", "HTTPClientTransport", "TestSupport", "Coordination", "Basics",
                "WireFacts", "ExactJSON",
            ],
            resources: [.copy("Recordings")]
        ),
        // What the official servers answered, performed on the development server.
        .testTarget(
            name: "RecordingTests",
            dependencies: [
                "MobileTokenEmulator", "EmulatorBackend", "EmulatorMessages", "PowerAuthProtocol", "PowerAuthCrypto",
                "ExactJSON", "CZlib", "WireFacts",
            ],
            resources: [.copy("Recorded")]
        ),
        .testTarget(
            name: "MobileTokenEmulatorTests",
            dependencies: [
                "MobileToken", "MobileTokenEmulator", "MobileTokenNotifications", "APIDescriptions", "MobileTokenCloud",
                "EmulatorBackend", "EmulatorHTTP", "EmulatorMessages", "Basics", "MobileTokenTesting",
                "PowerAuthProtocol", "PowerAuthCrypto", "HTTPClientTransport", "HeadlessBrowser", "TestSupport",
                "Coordination", "ExactJSON", "WireFacts", "SQLiteDatabase",
            ]
        ),
        .testTarget(
            name: "MobileTokenCloudTests",
            dependencies: [
                "MobileTokenCloud", "MobileToken", "MobileTokenOffline", "MobileTokenTesting", "HTTPClientTransport",
                "TestSupport", "WireFacts", "ExactJSON",
            ]
        ),
        // The SDK against the emulator, over real sockets.
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "AskCommands", "CommandLineSupport", "MobileToken", "MobileTokenApprovals", "MobileTokenNotifications",
                "MobileTokenObserving", "MobileTokenOffline", "MobileTokenReceipts", "MobileTokenEmulator",
                "MobileTokenReconciliation", "MobileTokenScreens", "EmulatorMessages", "MobileTokenTesting",
                "HTTPClientTransport", "PowerAuth", "DecisionReceipts", "PowerAuthClient", "TestSupport",
                "StoreTesting", "StoreExerciser", "ExactJSON", "Basics", "WireFacts",
            ]
        ),
        .testTarget(
            name: "CommandLineTests",
            dependencies: [
                "StoreTesting",
                "AskCommands", "CommandLineSupport", "MobileToken", "MobileTokenApprovals", "MobileTokenEmulator",
                "MobileTokenTesting", "PowerAuth", "HTTPClientTransport", "HeadlessBrowser", "PostgresTestServer",
                "SQLiteDatabase",
                "TestSupport", "ExactJSON",
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

// The harness for libFuzzer, which `Scripts/fuzz` builds with what it takes. An ordinary build does not know it.
if Context.environment["MOBILE_TOKEN_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(
            name: "Fuzz",
            dependencies: [
                "APIDescriptions", "CommandLineSupport", "MobileToken", "MobileTokenNotifications",
                "MobileTokenOffline", "MobileTokenReceipts", "MobileTokenScreens", "MobileTokenEmulator",
                "EmulatorBackend", "EmulatorHTTP", "EmulatorMessages", "PowerAuth", "PowerAuthClient",
                "PowerAuthProtocol", "PowerAuthCrypto", "HTTPClientTransport", "ExactJSON", "Basics",
            ],
            exclude: ["Corpora", "dictionary.txt"]
        )
    )
}

// The tests of the traits, which `Scripts/check-traits` builds. An ordinary build does not know them.
if Context.environment["MOBILE_TOKEN_NEIGHBORS"] != nil {
    func product(_ name: String, of origin: String, with trait: String) -> Target.Dependency {
        .product(name: name, package: origin, condition: .when(traits: [trait]))
    }
    package.targets.append(
        .testTarget(
            name: "Neighbors",
            dependencies: [
                "MobileToken", "MobileTokenApprovals", "MobileTokenCloud", "MobileTokenPostgres",
                "MobileTokenObserving", "MobileTokenEmulator", "MobileTokenTesting", "PostgresTestServer", "PowerAuth",
                "HTTPClientTransport", "Coordination", "TestSupport",
                product("InMemoryLogging", of: "swift-log", with: "Logging"),
                product("Logging", of: "swift-log", with: "ServiceLifecycle"),
                product("MetricsTestKit", of: "swift-metrics", with: "Metrics"),
                product("InMemoryTracing", of: "swift-distributed-tracing", with: "Tracing"),
            ]
        )
    )
}

// Of each trait: the targets with its code, and the products that they import.
let neighbors: [(trait: String, targets: [String], package: String, products: [String])] = [
    ("Logging", ["PowerAuthClient"], "swift-log", ["Logging"]),
    ("Metrics", ["PowerAuthClient"], "swift-metrics", ["Metrics"]),
    ("Tracing", ["PowerAuthClient", "PowerAuth"], "swift-distributed-tracing", ["Tracing"]),
    (
        "ServiceLifecycle", ["Coordination", "PowerAuthClient", "MobileToken", "MobileTokenApprovals"],
        "swift-service-lifecycle", ["ServiceLifecycle"]
    ),
    (
        "AsyncHTTPClient", ["HTTPClientTransport", "HTTPClientTransportTests", "Benchmarks"], "async-http-client",
        ["AsyncHTTPClient"]
    ),
    ("AsyncHTTPClient", ["HTTPClientTransport", "HTTPClientTransportTests"], "swift-nio", ["NIOCore"]),
    ("AsyncHTTPClient", ["HTTPClientTransport"], "swift-nio", ["NIOHTTP1", "NIOPosix"]),
    ("AsyncHTTPClient", ["HTTPClientTransport"], "swift-nio-ssl", ["NIOSSL"]),
    (
        "AsyncHTTPClient", ["HTTPClientTransport", "HTTPClientTransportTests"], "swift-nio-extras",
        ["NIOHTTPCompression"]
    ),
]
for (trait, targets, origin, products) in neighbors {
    for target in package.targets where targets.contains(target.name) {
        target.dependencies += products.map {
            .product(name: $0, package: origin, condition: .when(traits: [trait]))
        }
    }
}

// Seven rooms for the sources, and the same for the tests; `CONTRIBUTING.md` says what belongs where.
let rooms = [
    "Sources/CLibraries": "CCurl CLinux CMicroHTTPD COpenSSL COpenSSLLifetime CPostgreSQL CQREncode CSQLite CZlib",
    "Sources/Foundations":
        "Basics Coordination ExactJSON HTTPClientTransport PostgresDatabase SQLiteDatabase TestClock",
    "Sources/PowerAuth": """
    DecisionReceipts MobileTokenErrors MobileTokenObserving PowerAuth PowerAuthClient PowerAuthCrypto PowerAuthProtocol
    """,
    "Sources/MobileToken": """
    MobileToken MobileTokenNotifications MobileTokenOffline MobileTokenPostgres MobileTokenReceipts \
    MobileTokenReconciliation MobileTokenScreens MobileTokenTesting OperationScreens SignedContent
    """,
    "Sources/Asking": "APIDescriptions MobileTokenApprovals MobileTokenCloud",
    "Sources/Emulator": "EmulatorBackend EmulatorHTTP EmulatorMessages MobileTokenEmulator",
    "Sources/Programs": "AskCommands CommandLineSupport mobile-token mobile-token-emulator mobile-token-postgres",
    "Tests/Foundations": """
    BasicsTests CoordinationTests HTTPClientTransportTests PostgresDatabaseTests PostgresTestServer \
    SQLiteDatabaseTests TestSupport VisibleSynchronization
    """,
    "Tests/PowerAuth": "PowerAuthProtocolTests PowerAuthTests StoreExerciser StoreTesting VectorTests WireFacts",
    "Tests/MobileToken": "IntegrationTests MobileTokenPostgresTests MobileTokenTests Neighbors NodeExerciser",
    "Tests/Asking": "ApprovalExerciser ApprovalTesting MobileTokenApprovalsTests MobileTokenCloudTests",
    "Tests/Emulator": "HeadlessBrowser MobileTokenEmulatorTests RecordingTests",
    "Tests/Programs": "CommandLineTests Fuzz",
    "Tests/Simulation": "CRuntimeHooks Simulation SimulationTests simulate",
]
for (room, names) in rooms {
    for name in names.split(separator: " ") {
        package.targets.first { $0.name == name }?.path = "\(room)/\(name)"
    }
}

let settings: [SwiftSetting] = [
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
    .enableUpcomingFeature("ExistentialAny"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
    .enableUpcomingFeature("InternalImportsByDefault"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
    .enableUpcomingFeature("MemberImportVisibility"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0461-async-function-isolation.md
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]
for target in package.targets where target.type != .system { target.swiftSettings = settings }

// `Scripts/test` and `Scripts/sanitize` may build only some of the tests.
if let chosen = Context.environment["MOBILE_TOKEN_TESTS"]?.split(separator: " ") {
    package.targets.removeAll { $0.type == .test && !chosen.contains($0.name[...]) }
}

// The thread sanitizer does not see how the standard `Mutex` locks, and reports races where there are none. For
// `Scripts/sanitize thread`, every `import Synchronization` is of a module whose `Mutex` it does see.
if Context.environment["MOBILE_TOKEN_SANITIZER"] == "thread" {
    let shim = Target.target(
        name: "VisibleSynchronization",
        path: "Tests/Foundations/VisibleSynchronization"
    )
    for target in package.targets where target.type != .system {
        target.dependencies.append(.target(name: shim.name))
        target.swiftSettings = settings + [.unsafeFlags(["-module-alias", "Synchronization=\(shim.name)"])]
    }
    package.targets.append(shim)
}
