// swift-tools-version: 6.2
import PackageDescription

let frontDoors = [product("MobileToken"), product("MobileTokenApprovals"), product("MobileTokenTesting")]
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("MemberImportVisibility"), .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
]

// The view of a user's package: each product beside a module that has the generic names of other packages.
let package = Package(
    name: "ProductConsumer",
    dependencies: [.package(name: "swift-mobile-token", path: "../../..")],
    targets: [
        .target(name: "OtherTypes"),
        .target(name: "UsesExactJSON", dependencies: [product("ExactJSON"), product("MobileToken")]),
        .target(name: "UsesHTTPClientTransport", dependencies: ["OtherTypes", product("HTTPClientTransport")]),
        .target(
            name: "UsesMobileToken",
            dependencies: ["OtherTypes", product("MobileToken")],
            swiftSettings: strict
        ),
        .target(name: "UsesMobileTokenApprovals", dependencies: ["OtherTypes", product("MobileTokenApprovals")]),
        .target(name: "UsesMobileTokenCloud", dependencies: ["OtherTypes", product("MobileTokenCloud")]),
        .target(name: "UsesMobileTokenEmulator", dependencies: ["OtherTypes", product("MobileTokenEmulator")]),
        .target(
            name: "UsesMobileTokenPostgres",
            dependencies: ["OtherTypes", product("MobileToken"), product("MobileTokenPostgres")]
        ),
        .target(
            name: "UsesMobileTokenNotifications",
            dependencies: [product("MobileToken"), product("MobileTokenNotifications")],
            swiftSettings: strict
        ),
        .target(
            name: "UsesMobileTokenOffline",
            dependencies: [product("MobileToken"), product("MobileTokenOffline")],
            swiftSettings: strict
        ),
        .target(
            name: "UsesMobileTokenScreens",
            dependencies: [product("MobileToken"), product("MobileTokenScreens")],
            swiftSettings: strict
        ),
        .target(
            name: "UsesMobileTokenReconciliation",
            dependencies: [product("MobileToken"), product("MobileTokenReconciliation")],
            swiftSettings: strict
        ),
        .target(
            name: "UsesMobileTokenObserving",
            dependencies: [product("MobileToken"), product("MobileTokenObserving")],
            swiftSettings: strict
        ),
        .target(name: "UsesMobileTokenReceipts", dependencies: ["OtherTypes", product("MobileTokenReceipts")]),
        // The names of a user's model, in a module of its own and in the target itself.
        .target(name: "UsesModel", dependencies: ["OtherTypes"] + frontDoors, swiftSettings: strict),
        .target(name: "DeclaresModel", dependencies: frontDoors, swiftSettings: strict),
        .target(
            name: "UsesPowerAuth",
            dependencies: [product("MobileToken"), product("PowerAuth")],
            swiftSettings: strict
        ),
        .target(name: "UsesMobileTokenTesting", dependencies: ["OtherTypes", product("MobileTokenTesting")]),
    ],
    swiftLanguageModes: [.v6]
)

func product(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-mobile-token") }
