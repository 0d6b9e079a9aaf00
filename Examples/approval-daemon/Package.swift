// swift-tools-version: 6.2
import PackageDescription

// A program of its own, as a user would write it: it sees nothing of the SDK but its products.
let package = Package(
    name: "approval-daemon",
    products: [
        .executable(name: "approval-daemon", targets: ["approval-daemon"])
    ],
    // Named, so that it is found whatever the folder of the checkout is called.
    dependencies: [.package(name: "swift-mobile-token", path: "../..")],
    targets: [
        // The listener of the health endpoint: a module map, nothing more.
        .systemLibrary(name: "CStatusHTTP", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        // Reports the SDK's work to a logger and to metrics of the shapes that the server ecosystem uses.
        .target(name: "Telemetry", dependencies: [product("MobileToken")]),
        // Everything but the arguments, so that it can be tested.
        .target(
            name: "ApprovalDaemon",
            dependencies: [
                "CStatusHTTP", "Telemetry", product("MobileToken"), product("MobileTokenReceipts"),
                product("ExactJSON"), product("HTTPClientTransport"),
            ]
        ),
        .executableTarget(
            name: "approval-daemon",
            dependencies: ["ApprovalDaemon", "Telemetry", product("MobileToken"), product("HTTPClientTransport")]
        ),
        .testTarget(
            name: "TelemetryTests",
            dependencies: [
                "Telemetry", product("MobileToken"), product("MobileTokenEmulator"), product("MobileTokenTesting"),
            ]
        ),
        .testTarget(
            name: "ApprovalDaemonTests",
            dependencies: [
                "ApprovalDaemon", "Telemetry", "approval-daemon", product("MobileToken"),
                product("MobileTokenReceipts"),
                product("HTTPClientTransport"), product("MobileTokenEmulator"), product("MobileTokenTesting"),
                product("ExactJSON"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

func product(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-mobile-token") }

for target in package.targets where target.type != .system {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ]
}
