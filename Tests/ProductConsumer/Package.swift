// swift-tools-version: 6.2
import PackageDescription

// The view of a user's package: each product beside a module that has the generic names of other packages.
let package = Package(
    name: "ProductConsumer",
    dependencies: [.package(name: "swift-mobile-token", path: "../..")],
    targets: [
        .target(name: "OtherTypes"),
        .target(name: "UsesHTTPClientTransport", dependencies: ["OtherTypes", product("HTTPClientTransport")]),
        .target(
            name: "UsesMobileToken",
            dependencies: ["OtherTypes", product("MobileToken")],
            swiftSettings: [.enableUpcomingFeature("MemberImportVisibility")]
        ),
        .target(name: "UsesMobileTokenApprovals", dependencies: ["OtherTypes", product("MobileTokenApprovals")]),
        .target(name: "UsesMobileTokenCloud", dependencies: ["OtherTypes", product("MobileTokenCloud")]),
        .target(name: "UsesMobileTokenEmulator", dependencies: ["OtherTypes", product("MobileTokenEmulator")]),
        .target(
            name: "UsesMobileTokenPostgres",
            dependencies: ["OtherTypes", product("MobileToken"), product("MobileTokenPostgres")]
        ),
        .target(name: "UsesMobileTokenReceipts", dependencies: ["OtherTypes", product("MobileTokenReceipts")]),
        .target(name: "UsesMobileTokenTesting", dependencies: ["OtherTypes", product("MobileTokenTesting")]),
    ],
    swiftLanguageModes: [.v6]
)

func product(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-mobile-token") }
