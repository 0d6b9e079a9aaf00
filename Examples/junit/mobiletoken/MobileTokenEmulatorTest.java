package mobiletoken;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import mobiletoken.MobileTokenEmulator.Callbacks;
import mobiletoken.MobileTokenEmulator.Json;
import mobiletoken.MobileTokenEmulator.Refused;
import mobiletoken.MobileTokenEmulator.Server;
import mobiletoken.MobileTokenEmulator.Space;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/** The promises of the extension, each as the plugin for pytest keeps it. */
@ExtendWith(MobileTokenEmulator.class)
class MobileTokenEmulatorTest {
    @Test
    void callbacksTellOfAnApprovedPayment(Space space, Callbacks callbacks) {
        space.makeDevice("alice", "approve");
        String payment = space.createOperation("payment", "alice", Map.of("amount", "20"));
        assertEquals("APPROVED", space.waitFor(payment).get("status"));
        callbacks.next(Map.of("operationId", payment, "status", "APPROVED"));
        assertEquals(List.of("PENDING", "APPROVED"), callbacks.received().stream().map(it -> it.get("status")).toList());
    }

    @RepeatedTest(3)
    void aSpaceHasWhatItsTestHasMade(Space space) {
        assertEquals(0L, space.ask("GET", "/_emulator/operations").get("total"));
        space.createOperation("login", "alice", Map.of());
        assertEquals(1L, space.ask("GET", "/_emulator/operations").get("total"));
    }

    @Test
    void timeIsTheTests(Space space) {
        space.freeze();
        String operation = space.createOperation("login", "alice", Map.of(), Map.of("expiresIn", 60));
        space.advance(59);
        assertEquals("PENDING", space.operation(operation).get("status"));
        space.advance(2);
        assertEquals("EXPIRED", space.operation(operation).get("status"));
    }

    @Test
    void nobodyWaitsInVain(Callbacks callbacks, Space space) {
        String operation = space.createOperation("login", "alice", Map.of());
        assertThrows(AssertionError.class, () -> space.waitFor(operation, Duration.ofSeconds(1)));
        assertThrows(AssertionError.class, () -> callbacks.next(Map.of("status", "APPROVED"), Duration.ofMillis(100)));
    }

    @Test
    void refusalsHaveTheServersWords(Space space) {
        space.fail("/v2/**", 1, Map.of("status", 503));
        assertEquals(503, assertThrows(Refused.class, () -> space.register("alice")).status());
        Refused refused = assertThrows(Refused.class, () -> space.createOperation("paymnt", "alice", Map.of()));
        assertEquals("ERROR_REQUEST", refused.code());
        assertTrue(refused.reason().contains("did you mean 'payment'"), refused.reason());
        List<Object> statuses = space.journal(Map.of("verdict", "refused")).stream().map(it -> it.get("status")).toList();
        assertEquals(List.of(400L, 503L), statuses);
    }

    @Test
    void aClientIsConfiguredWithTheSpace(Space space) {
        assertEquals(space.baseUrl(), space.configuration().get("baseURL"));
        Object registration = space.register("alice").get("registrationId");
        assertThrows(Refused.class, () -> space.commit((String) registration)); // nothing has activated
    }

    @Test
    void aNameMayBeLong(Server server) {
        Space space = server.makeSpace("\u017e".repeat(200), Map.of());
        assertTrue(space.url().startsWith(server.url() + "/spaces/"));
        space.remove();
    }

    @Test
    void tlsIsTrustedWithoutMore() {
        try (Server server = Server.start("--tls")) {
            assertTrue(server.url().startsWith("https://"));
            assertEquals("READY", server.ask("GET", "/health").get("status"));
        }
    }

    @Test
    void aServerThatCannotStartIsAnError() {
        String message = assertThrows(IllegalStateException.class, () -> Server.start("--no-such-option")).getMessage();
        assertTrue(message.startsWith("the server did not start"), message);
    }

    @Test
    void jsonIsReadAndWritten() {
        String text = "{\"a\":[1,-2.5,1.0E30,true,null,\"\\u017e\\n\\\"\\\\\"],\"b\":{}}";
        assertEquals("{\"a\":[1,-2.5,1.0E30,true,null,\"\u017e\\u000a\\\"\\\\\"],\"b\":{}}", Json.write(Json.read(text)));
        for (String wrong : List.of("", "{", "[1,]", "01x", "\"", "\"\\u12", "\"\\x\"", "{\"a\" 1}", "1 2", "[".repeat(9999))) {
            assertThrows(IllegalArgumentException.class, () -> Json.read(wrong), wrong);
        }
    }

    @Test
    void thePageShowsWhatIsTested() throws IOException {
        String tested = unindented(Files.readString(Path.of("bank/PaymentServiceTest.java")));
        Pattern pattern = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);
        List<MatchResult> shown = pattern.matcher(Files.readString(Path.of("README.md"))).results().toList();
        assertFalse(shown.isEmpty());
        for (MatchResult example : shown) assertTrue(tested.contains(unindented(example.group(1))), example.group(1));
    }

    private static String unindented(String text) {
        return text.replaceAll("(?m)^ +", "");
    }

    // Other processes run these. No scan of the class path finds them, since their names are not those of tests.

    @ExtendWith(MobileTokenEmulator.class)
    static class Failing {
        @Test
        void orders(Space space) {
            space.makeDevice("alice", "wrongPassword");
            String payment = space.createOperation("payment", "alice", Map.of("amount", "20"));
            space.settle();
            assertEquals("APPROVED", space.operation(payment).get("status"));
        }
    }

    @ExtendWith(MobileTokenEmulator.class)
    static class FailingBefore {
        @BeforeEach
        void prepare(Space space) {
            space.createOperation("paymnt", "alice", Map.of());
        }

        @Test
        void orders() {}
    }

    @ExtendWith(MobileTokenEmulator.class)
    static class Telling {
        @Test
        void user(Server server) {
            System.out.println("user " + server.user());
        }

        @Test
        void waitsToBeKilled(Server server) throws IOException {
            System.out.println("url " + server.url());
            System.in.read();
        }
    }

    @Test
    void aFailureShowsTheReasonAndTheLink() throws IOException {
        Outcome outcome = run(Map.of(), List.of(), "--select-class", Failing.class.getName());
        assertEquals(1, outcome.status, outcome.text);
        assertTrue(outcome.text.contains("expected: <APPROVED> but was: <PENDING>"), outcome.text);
        String refusals = "Refused by the development server:\n +POST /api/auth/token/app/operation/authorize: 401, "
                + "The password is wrong; "
                + "see http://127.0.0.1:\\d+/spaces/[-0-9a-f]+/console/#journal/\\d+\n";
        assertTrue(Pattern.compile(refusals).matcher(outcome.text).find(), outcome.text);
    }

    @Test
    void aFailureBeforeATestShowsThemToo() throws IOException {
        Outcome outcome = run(Map.of(), List.of(), "--select-class", FailingBefore.class.getName());
        assertEquals(1, outcome.status, outcome.text);
        assertTrue(outcome.text.contains("POST /v2/operations: 400, 'template' names no template"), outcome.text);
    }

    @Test
    void aServerThatSomebodyRunsKeepsTheLastFailureOfEachTest() throws IOException, InterruptedException {
        try (Server server = Server.start("--password", "secret")) {
            var environment = Map.of("MOBILE_TOKEN_EMULATOR_URL", server.url() + "/", "MOBILE_TOKEN_CLOUD_PASSWORD", "secret");
            run(environment, List.of(), "--select-class", Failing.class.getName());
            Outcome outcome = run(environment, List.of(), "--select-class", Failing.class.getName());
            List<Map<String, Object>> spaces = Json.objects(server.ask("GET", "/_emulator/spaces").get("items"));
            assertEquals(List.of(Failing.class.getName() + ".orders"), spaces.stream().map(it -> it.get("name")).toList());
            assertTrue(((String) spaces.get(0).get("failure")).contains("but was: <PENDING>"));
            // The link leads to the entry that tells the reason.
            Pattern pattern = Pattern.compile("(http\\S+)/console/#journal/(\\d+)");
            MatchResult link = pattern.matcher(outcome.text).results().findAny().orElseThrow();
            assertTrue(get(link.group(1) + "/_emulator/journal/" + link.group(2)).contains("knowledge does not match"));
        }
    }

    @Test
    void theServerOfExecIsUsedAndKeepsWhatFailed(@TempDir Path folder) throws IOException {
        String program = System.getenv().getOrDefault("MOBILE_TOKEN_EMULATOR", "mobile-token-emulator");
        List<String> exec = List.of(program, "exec", "--per-test", "--report", folder.resolve("report").toString(), "--");
        Outcome outcome = run(Map.of(), exec, "--select-class", Failing.class.getName());
        assertEquals(1, outcome.status, outcome.text);
        String summary = Files.readString(folder.resolve("report/mobiletoken.MobileTokenEmulatorTest-Failing.orders/summary.json"));
        assertTrue(summary.contains("but was: <PENDING>"), summary);
    }

    @Test
    void optionsOfTheServerAreAParameterOfJUnit() throws IOException {
        Outcome outcome = run(Map.of(), List.of(), "--config", "mobile_token_options=--user bank --server 2.1",
                "--select-method", Telling.class.getName() + "#user(" + Server.class.getName() + ")");
        assertEquals(0, outcome.status, outcome.text);
        assertTrue(outcome.text.contains("user bank"), outcome.text);
    }

    @Test
    void aServerEndsWithWhateverStartedIt() throws IOException, InterruptedException {
        Process process = start(Map.of(), List.of(),
                "--select-method", Telling.class.getName() + "#waitsToBeKilled(" + Server.class.getName() + ")");
        try {
            String url = process.inputReader().lines().filter(it -> it.startsWith("url ")).findFirst().orElseThrow().substring(4);
            assertTrue(get(url + "/health").contains("READY"));
            process.destroyForcibly().waitFor();
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
            while (isThere(url)) {
                assertTrue(System.nanoTime() < deadline, "the server is still there");
                TimeUnit.MILLISECONDS.sleep(50);
            }
        } finally {
            process.destroyForcibly();
        }
    }

    private record Outcome(int status, String text) {}

    /** Runs JUnit in another process, behind the words of another command, and returns what it has printed. */
    private static Outcome run(Map<String, String> environment, List<String> before, String... selection) throws IOException {
        Process process = start(environment, before, selection);
        process.onExit().orTimeout(2, TimeUnit.MINUTES).whenComplete((it, late) -> process.destroyForcibly());
        String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Outcome(process.onExit().join().exitValue(), text);
    }

    private static Process start(Map<String, String> environment, List<String> before, String... selection) throws IOException {
        List<String> command = new ArrayList<>(before);
        command.addAll(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                System.getProperty("java.class.path"), "org.junit.platform.console.ConsoleLauncher", "--disable-banner",
                "--disable-ansi-colors", "--details=summary"));
        command.addAll(List.of(selection));
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().keySet().removeAll(List.of("MOBILE_TOKEN_EMULATOR_URL", "MOBILE_TOKEN_SPACES_URL"));
        builder.environment().putAll(environment);
        return builder.start();
    }

    private static String get(String url) throws IOException, InterruptedException {
        HttpClient client = HttpClient.newBuilder().proxy(HttpClient.Builder.NO_PROXY).build();
        return client.send(HttpRequest.newBuilder(URI.create(url)).build(), HttpResponse.BodyHandlers.ofString()).body();
    }

    private static boolean isThere(String url) throws InterruptedException {
        try {
            get(url + "/health");
            return true;
        } catch (IOException gone) {
            return false;
        }
    }
}
