package import APIDescriptions
import EmulatorMessages

/// The described calls of the control API, for programs that drive a server by its descriptions.
package enum ControlCalls {
    package static var all: [any DescribedRoute] { ControlAPI.routes.routes.filter { ControlAPI.serves($0.path) } }
}
