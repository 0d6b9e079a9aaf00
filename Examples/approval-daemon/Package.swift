// swift-tools-version: 6.2
import PackageDescription

// A program of its own, as a user would write it: it sees nothing of the SDK but its products.
let package = Package(
    name: "approval-daemon",
    products: [
        .executable(name: "approval-daemon", targets: ["approval-daemon"])
    ],
    // With it, the SDK logs and measures through swift-log and swift-metrics, which are fetched for it alone.
    traits: ["ServerLibraries"],
    dependencies: [
        // Named, so that it is found whatever the folder of the checkout is called.
        .package(
            name: "swift-mobile-token",
            path: "../..",
            traits: [
                .trait(name: "Logging", condition: .when(traits: ["ServerLibraries"])),
                .trait(name: "Metrics", condition: .when(traits: ["ServerLibraries"])),
            ]
        ),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.5.0"),
    ],
    targets: [
        // The listener of the health endpoint: a module map, nothing more.
        .systemLibrary(name: "CStatusHTTP", pkgConfig: "libmicrohttpd", providers: [.apt(["libmicrohttpd-dev"])]),
        // Everything but the arguments, so that it can be tested.
        .target(
            name: "ApprovalDaemon",
            dependencies: [
                "CStatusHTTP", product("MobileToken"), product("MobileTokenObserving"), product("MobileTokenReceipts"),
                product("ExactJSON"),
                product("HTTPClientTransport"), library("Logging", of: "swift-log"),
                library("Metrics", of: "swift-metrics"),
            ]
        ),
        .executableTarget(
            name: "approval-daemon",
            dependencies: ["ApprovalDaemon", product("MobileToken"), product("HTTPClientTransport")]
        ),
        .testTarget(
            name: "ApprovalDaemonTests",
            dependencies: [
                "ApprovalDaemon", "approval-daemon", product("MobileToken"),
                product("MobileTokenReceipts"),
                product("HTTPClientTransport"), product("MobileTokenEmulator"), product("MobileTokenTesting"),
                product("ExactJSON"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

func product(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-mobile-token") }

func library(_ name: String, of package: String) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: ["ServerLibraries"]))
}

for target in package.targets where target.type != .system {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ]
}
