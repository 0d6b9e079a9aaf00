package import ExactJSON

extension Schema {
    /// The path to a value, for people and for programs, computed only for an objection.
    package struct Place: Sendable {
        private indirect enum Way: Sendable {
            case top
            case member(String, Int, of: Way)
            case element(Int, of: Way)
        }

        private var way = Way.top

        init() {}

        private init(_ way: Way) { self.way = way }

        func member(_ name: String, _ index: Int) -> Self { Self(.member(name, index, of: self.way)) }

        func element(_ index: Int) -> Self { Self(.element(index, of: self.way)) }

        private var path: String { Self.path(self.way) }

        private static func path(_ way: Way) -> String {
            switch way {
            case .top: ""
            case .member(let name, _, let outer): self.name(ofMember: name, in: self.path(outer))
            case .element(let index, let outer): "\(self.path(outer))[\(index)]"
            }
        }

        private static func name(ofMember name: String, in path: String) -> String {
            path.isEmpty ? name.beginning : "\(path).\(name.beginning)"
        }

        private func name(ofMember name: String) -> String { Self.name(ofMember: name, in: self.path) }

        private var numbers: [Int] {
            var (numbers, way) = ([Int](), self.way)
            while true {
                switch way {
                case .top: return numbers.reversed()
                case .member(_, let index, let outer), .element(let index, let outer):
                    numbers.append(index)
                    way = outer
                }
            }
        }

        package func objection(_ hint: String, _ value: JSONValue?) -> Objection {
            .init(member: self.path, hint: hint, place: self.numbers, value: value)
        }

        /// Returns an object's objection to one of its members, with the full path.
        func objection(_ inner: Objection) -> Objection {
            let member = inner.member.isEmpty ? self.path : self.name(ofMember: inner.member)
            return .init(member: member, hint: inner.hint, place: self.numbers, value: inner.value)
        }

        func missing(_ name: String) -> Objection {
            .init(member: self.name(ofMember: name), hint: "is missing", place: self.numbers)
        }
    }
}
