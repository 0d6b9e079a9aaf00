package import ExactJSON

extension Schema {
    /// The way to a value, for people and for programs.
    package struct Place: Sendable {
        private var path = ""
        private var numbers: [Int] = []

        func member(_ name: String, _ index: Int) -> Self {
            Self(path: self.name(ofMember: name), numbers: self.numbers + [index])
        }

        private func name(ofMember name: String) -> String {
            let name = name.beginning
            return self.path.isEmpty ? name : "\(self.path).\(name)"
        }

        func element(_ index: Int) -> Self { Self(path: "\(self.path)[\(index)]", numbers: self.numbers + [index]) }

        package func objection(_ hint: String, _ value: JSONValue?) -> Objection {
            .init(member: self.path, hint: hint, place: self.numbers, value: value)
        }

        /// Returns what an object objects to among its own members.
        func objection(_ inner: Objection) -> Objection {
            let member = inner.member.isEmpty ? self.path : self.name(ofMember: inner.member)
            return .init(member: member, hint: inner.hint, place: self.numbers, value: inner.value)
        }

        func missing(_ name: String) -> Objection {
            .init(member: self.name(ofMember: name), hint: "is missing", place: self.numbers)
        }
    }
}
