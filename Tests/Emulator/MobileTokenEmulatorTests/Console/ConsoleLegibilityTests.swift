import HeadlessBrowser
import MobileTokenTesting
import Testing

/// Tests that everything in the console can be read and used: on a phone and on wide pages, in both colors, without a mouse.
@Suite(.timeLimit(.minutes(5)), .enabled(if: Browser.executable != nil, "needs Chromium"))
struct ConsoleLegibilityTests {
    @Test(arguments: [390, 768, 1280, 1400])
    func everythingCanBeReadInBothColors(width: Int) async throws {
        try await withEmulator { emulator async throws in
            let sample = try await ConsoleSample(in: emulator)
            try await withConsole(of: emulator, width: width) { page async throws in
                try await page.evaluate(Self.faults)
                for isDark in [false, true] {
                    try await page.resize(width: width, height: 800, dark: isDark)
                    try await sample.tour(page) { what async throws in
                        let found = try await page.evaluate("window.faults().join('\\n')")
                        #expect(found.isEmpty, "\(what), \(isDark ? "dark" : "light")")
                        guard ConsoleSample.views.contains(what) else { return }
                        #expect(try await page.evaluate(Self.titles) == "1", "\(what) has one title")
                    }
                }
            }
            try await withBrowser(width: width, height: 800) { page async throws in
                try await page.open(emulator.cloudURL + "/docs#createRegistration")
                try await page.wait(until: "document.querySelector('#createRegistration[open] .try')")
                try await page.evaluate(Self.faults)
                for isDark in [false, true] {
                    try await page.resize(width: width, height: 800, dark: isDark)
                    #expect(try await page.evaluate("window.faults().join('\\n')") == "", "docs")
                }
            }
        }
    }

    /// By Tab alone, and each shows that it has the focus, in sight.
    @Test(arguments: [390, 1400])
    func everyControlIsReachedByKeyboardAndShowsIt(width: Int) async throws {
        try await withEmulator { emulator async throws in
            _ = try await ConsoleSample(in: emulator)
            try await withConsole(of: emulator, width: width) { page async throws in
                for view in ConsoleSample.views {
                    try await page.go(to: view)
                    try await page.wait(until: Self.isDrawn(view))
                    try await page.evaluate(Self.beginTour)
                    let count = try await page.evaluate("String(window.expected.length)")
                    #expect(count != "0")
                    for _ in 0..<(2 * (Int(count) ?? 0) + 4) {
                        try await page.press("Tab")
                        guard try await page.evaluate(Self.continueTour) != "over" else { break }
                    }
                    #expect(try await page.evaluate("window.missing()") == "", "\(view): not reached")
                    #expect(
                        try await page.evaluate("[...window.hidden].join()") == "",
                        "\(view): the focus is not seen"
                    )
                }
            }
        }
    }

    /// The number of headings of the first level that are shown.
    private static let titles = """
        String([...document.querySelectorAll('h1, [role=heading][aria-level="1"]')]
          .filter((one) => one.checkVisibility()).length)
        """

    /// The view is the one that is shown, and a list has drawn what it has.
    static func isDrawn(_ view: String) -> String {
        """
        !document.querySelector('#\(view)').hidden && (!document.querySelector('#\(view) .list') \
        || document.querySelector('#\(view) .list .row') || document.querySelector('#\(view) .empty:not([hidden])'))
        """
    }
}

// MARK: - In the page

extension ConsoleLegibilityTests {
    /// Defines `faults()`: what of the page, or of its open dialog, is outside it, cut off, or hard to tell from what is
    /// behind it, by WCAG 2.2 (1.4.3 and 1.4.11).
    private static let faults = """
        window.faults = () => {
          document.getAnimations().forEach((one) => one.finish());
          const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
          const context = canvas.getContext("2d", { willReadFrequently: true });
          const parts = (color) => {
            context.clearRect(0, 0, 1, 1);
            context.fillStyle = color;
            context.fillRect(0, 0, 1, 1);
            return [...context.getImageData(0, 0, 1, 1).data];
          };
          const over = ([...front], back) => back.map((value, index) => value + (front[index] - value) * front[3] / 255);
          const behind = (element) => {
            const layers = [];
            for (let one = element; one; one = one.parentElement) {
              layers.push(parts(getComputedStyle(one).backgroundColor));
              if (layers.at(-1)[3] === 255) break;
            }
            return layers.reduceRight((back, front) => over(front, back), [255, 255, 255]);
          };
          const luminance = (color) => {
            const [r, g, b] = color.map((value) => (value <= 10 ? value / 255 / 12.92 : ((value / 255 + .055) / 1.055) ** 2.4));
            return .2126 * r + .7152 * g + .0722 * b;
          };
          const contrast = (color, back) => {
            const [more, less] = [over(parts(color), back), back].map(luminance).sort((a, b) => b - a);
            return (more + .05) / (less + .05);
          };
          const name = (one) => `${one.localName}${one.id && `#${one.id}`}.${one.className}`;
          const found = new Set();
          const root = document.querySelector("dialog[open]") ?? document.body;
          const width = document.documentElement.clientWidth;  // a phone zooms out where something is wider, and then has a greater `innerWidth`
          if (document.documentElement.scrollWidth > width) found.add("the page is wider than the window");
          for (const one of root.querySelectorAll("*")) {
            if (!one.checkVisibility({ visibilityProperty: true }) || one.closest("datalist, option, .unseen")) continue;
            const style = getComputedStyle(one);
            const box = one.getBoundingClientRect();
            const scrolls = one.closest("#views ul");
            if (box.width && !scrolls && !one.closest(".row") && (box.right > width + 1 || box.left < -1)) found.add(`outside: ${name(one)}`);
            const isCut = one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0;
            if (isCut && !scrolls && !one.matches("input, select") && style.overflowX !== "visible" && style.textOverflow !== "ellipsis") found.add(`cut: ${name(one)}`);
            if (one.matches(":disabled")) continue;
            const back = behind(one);
            const color = one instanceof SVGElement ? style.fill : style.color;
            const hasText = [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
            const size = parseFloat(style.fontSize);
            const needed = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
            if (hasText && contrast(color, back) < needed) found.add(`pale: ${name(one)} ${one.textContent.slice(0, 30)}`);
            if (!one.matches("input:not([type=checkbox], [type=range]), select, textarea")) continue;
            if (contrast(style.borderTopColor, behind(one.parentElement)) < 3) found.add(`no edge: ${name(one)}`);
            if (one.placeholder && contrast(getComputedStyle(one, "::placeholder").color, back) < 4.5) found.add(`pale placeholder: ${name(one)}`);
          }
          return [...found];
        };
        1
        """

    /// Begins at the selected tab, with a list of what Tab must come to.
    private static let beginTour = """
        window.expected = [...document.querySelectorAll("a, button, input, select, textarea, summary, [role=listbox]")]
          .filter((one) => one.checkVisibility() && one.tabIndex >= 0 && !one.disabled && !one.matches("[type=radio]:not(:checked)"));
        window.reached = new Set();
        window.hidden = new Set();
        window.label = (one) => one.id || one.getAttribute("aria-label") || one.textContent;
        window.missing = () => window.expected.filter((one) => one.isConnected && !window.reached.has(one)).map(window.label).join();
        document.activeElement.blur();
        [...document.querySelectorAll("#views [aria-current], #menu")].find((one) => one.checkVisibility()).focus();
        window.reached.add(document.activeElement);
        1
        """

    /// Looks at what has the focus now.
    private static let continueTour = """
        (() => {
          const one = document.activeElement;
          if (one === document.body) return "";
          window.reached.add(one);
          const style = getComputedStyle(one);
          const box = one.getBoundingClientRect();
          const isMarked = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
          const isInSight = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
          if (!isMarked || !isInSight) window.hidden.add(window.label(one));
          return window.missing() ? "" : "over";
        })()
        """
}
