// swift-tools-version: 6.2
import PackageDescription

// A program of its own, as a user would write it: it sees nothing of the SDK but its products.
let package = Package(
    name: "deployment-gate",
    products: [
        .executable(name: "deployment-gate", targets: ["deployment-gate"])
    ],
    // Named, so that it is found whatever the folder of the checkout is called.
    dependencies: [.package(name: "swift-mobile-token", path: "../..")],
    targets: [
        // Everything but the arguments, so that it can be tested.
        .target(name: "DeploymentGate", dependencies: [product("MobileTokenApprovals"), product("ExactJSON")]),
        .executableTarget(
            name: "deployment-gate",
            dependencies: [
                "DeploymentGate", product("MobileTokenApprovals"), product("HTTPClientTransport"), product("ExactJSON"),
            ]
        ),
        .testTarget(
            name: "DeploymentGateTests",
            dependencies: [
                "DeploymentGate", "deployment-gate", product("MobileTokenApprovals"), product("MobileTokenEmulator"),
                product("MobileTokenTesting"), product("ExactJSON"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

func product(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-mobile-token") }

for target in package.targets {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ]
}
