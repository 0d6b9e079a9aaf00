package mobiletoken;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Store.CloseableResource;
import org.junit.jupiter.api.extension.LifecycleMethodExecutionExceptionHandler;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;
import org.opentest4j.TestAbortedException;

/**
 * Runs the PowerAuth development server for JUnit 5, and gives each test a server of its own in it.
 *
 * <pre>
 * &#64;ExtendWith(MobileTokenEmulator.class)
 * class PaymentTest {
 *     &#64;Test void aPaymentIsApproved(Space space, Callbacks callbacks) { ... }
 * }
 * </pre>
 *
 * <p>This file needs Java 17 and JUnit 5, and nothing else. It is one with the plugin for pytest: same names, same defaults.
 */
public final class MobileTokenEmulator
        implements ParameterResolver, AfterEachCallback, TestExecutionExceptionHandler, LifecycleMethodExecutionExceptionHandler {
    private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(MobileTokenEmulator.class);

    // The parameters of tests

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return List.of(Server.class, Space.class, Callbacks.class).contains(parameter.getParameter().getType());
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        Class<?> type = parameter.getParameter().getType();
        if (type == Server.class) return server(context);
        if (context.getTestMethod().isEmpty()) {
            throw new ParameterResolutionException(
                    type.getSimpleName() + " belongs to one test: let a test method or @BeforeEach take it");
        }
        return type == Space.class ? space(context) : callbacks(context);
    }

    private static Server server(ExtensionContext context) {
        ExtensionContext root = context.getRoot();
        return root.getStore(NAMESPACE).getOrComputeIfAbsent(Server.class, key -> {
            String options = root.getConfigurationParameter("mobile_token_options").orElse("").strip();
            Server running = Server.running();
            return running != null ? running : Server.start(options.isEmpty() ? new String[0] : options.split("\\s+"));
        }, Server.class);
    }

    private static Space space(ExtensionContext context) {
        Server server = server(context);
        return context.getStore(NAMESPACE).getOrComputeIfAbsent(
                Space.class, key -> server.makeSpaceAgain(nameOf(context)), Space.class);
    }

    private static Callbacks callbacks(ExtensionContext context) {
        Space space = space(context);
        return context.getStore(NAMESPACE).getOrComputeIfAbsent(Callbacks.class, key -> {
            String host = System.getenv("MOBILE_TOKEN_CALLBACK_HOST");
            Callbacks callbacks = new Callbacks(host == null ? "127.0.0.1" : host);
            callbacks.register(space, "OPERATION", Map.of());
            return callbacks;
        }, Callbacks.class);
    }

    /** Returns the name of a test as in JUnit's reports, with what tells its repetitions apart. */
    private static String nameOf(ExtensionContext context) {
        String method = context.getRequiredTestMethod().getName(), shown = context.getDisplayName();
        String name = context.getRequiredTestClass().getName() + "." + method;
        return shown.startsWith(method + "(") ? name : name + " " + shown;
    }

    // The end of a test

    @Override
    public void afterEach(ExtensionContext context) {
        Space space = context.getStore(NAMESPACE).get(Space.class, Space.class);
        if (space == null) return;
        Throwable failure = context.getExecutionException().filter(it -> !(it instanceof TestAbortedException)).orElse(null);
        if (failure != null) {
            StringWriter trace = new StringWriter();
            failure.printStackTrace(new PrintWriter(trace));
            space.markFailed(trace.toString());
        }
        if (failure == null || !space.server.staysAfterwards) space.remove();
    }

    @Override
    public void handleTestExecutionException(ExtensionContext context, Throwable failure) throws Throwable {
        Space space = context.getStore(NAMESPACE).get(Space.class, Space.class);
        if (space != null && !(failure instanceof TestAbortedException)) failure.addSuppressed(new Reason(space.refusals()));
        throw failure;
    }

    @Override
    public void handleBeforeEachMethodExecutionException(ExtensionContext context, Throwable failure) throws Throwable {
        handleTestExecutionException(context, failure);
    }

    @Override
    public void handleAfterEachMethodExecutionException(ExtensionContext context, Throwable failure) throws Throwable {
        handleTestExecutionException(context, failure);
    }

    /** The refused requests of a failed test. It goes with the failure wherever that is printed. */
    private static final class Reason extends Throwable {
        private static final long serialVersionUID = 1;

        Reason(String text) {
            super("Refused by the development server:" + text, null, false, false);
        }

        @Override
        public String toString() {
            return getMessage();
        }
    }

    /** A response that is no success. Its message is the status and the text of the response. */
    public static final class Refused extends RuntimeException {
        private static final long serialVersionUID = 1;
        private final int status;
        private final String code;
        private final String reason;

        Refused(int status, String text, String entry) {
            super(status + " " + text + (entry == null ? "" : "; see " + entry));
            Map<?, ?> error = errorIn(text);
            this.status = status;
            this.code = error.get("code") instanceof String string ? string : null;
            this.reason = error.get("message") instanceof String string ? string : null;
        }

        private static Map<?, ?> errorIn(String text) {
            try {
                if (Json.object(Json.read(text)).get("responseObject") instanceof Map<?, ?> error) return error;
            } catch (IllegalArgumentException notJson) {
                // A page of a proxy, or of a fault.
            }
            return Map.of();
        }

        /** Returns the HTTP status. */
        public int status() {
            return status;
        }

        /** Returns the server's code for the error, or null. */
        public String code() {
            return code;
        }

        /** Returns the server's words for the error, or null. */
        public String reason() {
            return reason;
        }
    }

    /** The calls that a server and a space have in common. */
    public abstract static sealed class Calls permits Server, Space {
        private final String url;
        private final HttpClient client;
        private final String authorization;

        private Calls(String url, HttpClient client, String authorization) {
            this.url = url;
            this.client = client;
            this.authorization = authorization;
        }

        private Calls(Calls server, String path) {
            this(server.url + path, server.client, server.authorization);
        }

        /** Returns the address: {@code /v2}, {@code /_emulator} and {@code /console/} are below it. */
        public String url() {
            return url;
        }

        /**
         * Makes any call that {@code /docs} describes, and returns its JSON; an empty map for none.
         *
         * @param body a map, or null for none
         * @throws Refused if the response is no success
         */
        public Map<String, Object> ask(String method, String path, Object body) {
            HttpRequest request = HttpRequest.newBuilder(URI.create(url + path))
                    .timeout(Duration.ofSeconds(90))
                    .header("Authorization", authorization)
                    .header("Content-Type", "application/json")
                    .method(method, body == null
                            ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(Json.write(body)))
                    .build();
            try {
                HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
                if (response.statusCode() >= 300) {
                    String entry = response.headers().firstValue("X-Emulator-Entry").orElse(null);
                    throw new Refused(response.statusCode(), response.body(), entry);
                }
                return response.body().isEmpty() ? Map.of() : Json.object(Json.read(response.body()));
            } catch (IOException error) {
                throw new UncheckedIOException(method + " " + url + path + ": " + error, error);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(error);
            }
        }

        /** Makes a call without a body. */
        public Map<String, Object> ask(String method, String path) {
            return ask(method, path, null);
        }

        /** Returns what a client SDK is configured with: {@code baseURL}, {@code sdkConfiguration}, and so on. */
        public Map<String, Object> configuration() {
            return ask("GET", "/_emulator/configuration");
        }

        /** Registers a device for a user; {@code activationCode} and {@code registrationId} are in the result. */
        public Map<String, Object> register(String user) {
            return ask("POST", "/v2/registrations", Map.of("userId", user));
        }

        /** Lets a registration become active, after its device has activated. */
        public void commit(String registrationId) {
            ask("POST", "/v2/registrations/" + registrationId + "/commit", Map.of());
        }

        /** Creates an operation from a template, and returns its identifier. */
        public String createOperation(String template, String user, Map<String, String> parameters) {
            return createOperation(template, user, parameters, Map.of());
        }

        /** Creates an operation; {@code request} has further members of the call, such as {@code expiresIn}. */
        public String createOperation(String template, String user, Map<String, String> parameters, Map<String, ?> request) {
            Map<String, Object> body = new LinkedHashMap<>(request);
            body.putAll(Map.of("template", template, "userId", user, "parameters", parameters));
            return (String) ask("POST", "/v2/operations", body).get("operationId");
        }

        /** Returns an operation as the bank sees it. */
        public Map<String, Object> operation(String operationId) {
            return ask("GET", "/v2/operations/" + operationId);
        }

        /** Waits at most 30 seconds until an operation is decided, canceled or expired, and returns it. */
        public Map<String, Object> waitFor(String operationId) {
            return waitFor(operationId, Duration.ofSeconds(30));
        }

        /** Waits until an operation is decided, canceled or expired, and returns it. */
        public Map<String, Object> waitFor(String operationId, Duration within) {
            long deadline = System.nanoTime() + within.toNanos();
            while (true) {
                long left = TimeUnit.NANOSECONDS.toSeconds(deadline - System.nanoTime());
                String query = "?until=final&wait=" + Math.max(0, Math.min(60, left));
                Map<String, Object> operation = ask("GET", "/_emulator/operations/" + operationId + query);
                if (!"PENDING".equals(operation.get("status"))) return operation;
                if (left < 1) {
                    throw new AssertionError("the operation is still pending after " + within.toSeconds() + " s: " + awaited(operationId));
                }
            }
        }

        /** Returns what a pending operation waits for, and its page in the console. */
        String awaited(String operationId) {
            Map<String, Object> history = ask("GET", "/_emulator/operations/" + operationId + "/history");
            String left = history.containsKey("expiresIn") ? "; it expires in " + history.get("expiresIn") + " s" : "";
            return history.getOrDefault("awaited", "decided meanwhile") + left + "; see " + url + "/console/#operations/" + operationId;
        }

        /** Makes a virtual phone that decides: {@code approve}, {@code reject}, {@code wrongPassword} or {@code never}. */
        public Map<String, Object> makeDevice(String user, String decision) {
            return makeDevice(user, decision, Map.of());
        }

        /** Makes a virtual phone; {@code rule} has further members of its rule, such as {@code after} or {@code reason}. */
        public Map<String, Object> makeDevice(String user, String decision, Map<String, ?> rule) {
            Map<String, Object> whole = new LinkedHashMap<>(rule);
            whole.put("decision", decision);
            return ask("POST", "/_emulator/devices", Map.of("userId", user, "rule", whole));
        }

        /** Stops the clock. */
        public void freeze() {
            ask("PUT", "/_emulator/clock", Map.of("mode", "manual"));
        }

        /** Moves the clock on. */
        public void advance(double seconds) {
            advance(seconds, false);
        }

        /** Moves the clock on; with {@code settle}, devices and callbacks do what is due before and after that. */
        public void advance(double seconds, boolean settle) {
            ask("PUT", "/_emulator/clock", Map.of("advance", seconds, "settle", settle));
        }

        /** Waits at most 30 seconds until no device and no callback has anything due or under way. */
        public void settle() {
            ask("POST", "/_emulator/settle", Map.of("within", 30));
        }

        /** Makes requests to a path fail: {@code space.fail("/api/**", Map.of("status", 503))}. */
        public void fail(String path, Map<String, ?> effect) {
            ask("POST", "/_emulator/faults", Map.of("match", Map.of("path", path), "effect", effect));
        }

        /** Makes the first requests to a path fail. */
        public void fail(String path, int first, Map<String, ?> effect) {
            ask("POST", "/_emulator/faults", Map.of("match", Map.of("path", path, "first", first), "effect", effect));
        }

        /** Returns the requests that the filters choose, such as {@code Map.of("verdict", "refused")}, newest first. */
        public List<Map<String, Object>> journal(Map<String, ?> filters) {
            String query = filters.entrySet().stream()
                    .map(it -> it.getKey() + "=" + URLEncoder.encode(it.getValue().toString(), StandardCharsets.UTF_8))
                    .collect(Collectors.joining("&", "?", ""));
            return Json.objects(ask("GET", "/_emulator/journal" + query).get("entries"));
        }
    }

    /** A running server. */
    public static final class Server extends Calls implements CloseableResource, AutoCloseable {
        private static final String SPACES = "/_emulator/spaces";
        /** Prints the variables that {@code exec} sets, and ends with its input: the server ends even if this JVM is killed. */
        private static final String TELLER = "env | grep '^MOBILE_TOKEN_'; echo; exec cat >/dev/null";

        private final Map<String, String> environment;
        private final Process process;
        /** A server that somebody runs keeps the space of a failed test until the test's next run, for its link. */
        private final boolean staysAfterwards;

        private Server(Map<String, String> environment, Process process) {
            super(urlIn(environment), client(environment.get("MOBILE_TOKEN_CA_FILE")), authorization(environment));
            this.environment = Map.copyOf(environment);
            this.process = process;
            this.staysAfterwards = environment.get("MOBILE_TOKEN_SPACES_URL") == null;
        }

        /** Returns the variables that {@code exec} sets: a back end in another process needs some of them. */
        public Map<String, String> environment() {
            return environment;
        }

        /** Returns the user of the cloud API. */
        public String user() {
            return environment.getOrDefault("MOBILE_TOKEN_CLOUD_USER", "developer");
        }

        /** Returns the password of the cloud API. */
        public String password() {
            return environment.get("MOBILE_TOKEN_CLOUD_PASSWORD");
        }

        /** Returns the server that {@code exec} or MOBILE_TOKEN_EMULATOR_URL names, or null. It is not stopped. */
        public static Server running() {
            Map<String, String> all = System.getenv();
            boolean isNamed = all.containsKey("MOBILE_TOKEN_SPACES_URL") || all.containsKey("MOBILE_TOKEN_EMULATOR_URL");
            return isNamed ? new Server(ours(all), null) : null;
        }

        /**
         * Starts a server on a free port of the loopback interface. It ends with {@link #close()} or with this JVM.
         *
         * <p>The program is {@code mobile-token-emulator} on the PATH, unless MOBILE_TOKEN_EMULATOR names another.
         *
         * @param options those of the program, such as {@code "--server=2.1"}
         */
        public static Server start(String... options) {
            String program = System.getenv().getOrDefault("MOBILE_TOKEN_EMULATOR", "mobile-token-emulator");
            List<String> command = new ArrayList<>(List.of(program, "exec"));
            command.addAll(List.of(options));
            command.addAll(List.of("--", "sh", "-c", TELLER));
            try {
                return started(new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start());
            } catch (IOException error) {
                throw new UncheckedIOException(program + " cannot be run: put it on the PATH, or its path into "
                        + "MOBILE_TOKEN_EMULATOR, or set MOBILE_TOKEN_EMULATOR_URL to a running server", error);
            }
        }

        private static Server started(Process process) throws IOException {
            Map<String, String> told = new LinkedHashMap<>();
            var timer = Executors.newSingleThreadScheduledExecutor();
            try {
                timer.schedule(process::destroyForcibly, 30, TimeUnit.SECONDS);
                var lines = process.inputReader(StandardCharsets.UTF_8);
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    if (line.isEmpty()) return new Server(ours(told), process);
                    String[] parts = line.split("=", 2);
                    if (parts.length == 2) told.put(parts[0], parts[1]);
                }
            } finally {
                timer.shutdownNow();
            }
            process.getOutputStream().close();
            throw new IllegalStateException("the server did not start; it ended with " + ended(process));
        }

        private static int ended(Process process) {
            try {
                if (!process.waitFor(10, TimeUnit.SECONDS)) process.destroyForcibly();
                return process.waitFor();
            } catch (InterruptedException error) {
                process.destroyForcibly();
                Thread.currentThread().interrupt();
                return -1;
            }
        }

        private static Map<String, String> ours(Map<String, String> all) {
            return all.entrySet().stream().filter(it -> it.getKey().startsWith("MOBILE_TOKEN_"))
                    .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
        }

        private static String urlIn(Map<String, String> environment) {
            String spaces = environment.get("MOBILE_TOKEN_SPACES_URL");
            String url = spaces == null ? environment.get("MOBILE_TOKEN_EMULATOR_URL") : spaces.replaceFirst(SPACES + "$", "");
            return url.replaceFirst("/+$", "");
        }

        private static String authorization(Map<String, String> environment) {
            String password = environment.get("MOBILE_TOKEN_CLOUD_PASSWORD");
            if (password == null) throw new IllegalStateException("set MOBILE_TOKEN_CLOUD_PASSWORD to the server's --password");
            String both = environment.getOrDefault("MOBILE_TOKEN_CLOUD_USER", "developer") + ":" + password;
            return "Basic " + Base64.getEncoder().encodeToString(both.getBytes(StandardCharsets.UTF_8));
        }

        /** Makes a client that uses no proxy, and trusts the certificates of a file, if there is one. */
        private static HttpClient client(String certificates) {
            HttpClient.Builder builder =
                    HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).proxy(HttpClient.Builder.NO_PROXY);
            if (certificates == null) return builder.build();
            try (InputStream file = Files.newInputStream(Path.of(certificates))) {
                KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
                trusted.load(null, null);
                for (var certificate : CertificateFactory.getInstance("X.509").generateCertificates(file)) {
                    trusted.setCertificateEntry("certificate " + trusted.size(), certificate);
                }
                TrustManagerFactory managers = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
                managers.init(trusted);
                SSLContext context = SSLContext.getInstance("TLS");
                context.init(null, managers.getTrustManagers(), null);
                return builder.sslContext(context).build();
            } catch (IOException | GeneralSecurityException error) {
                throw new IllegalStateException(certificates + " cannot be read", error);
            }
        }

        /** Makes a space: {@code seed} fixes its identifiers and keys, {@code from} says what it begins with. */
        public Space makeSpace(String name, Map<String, ?> options) {
            String fitting = name;
            while (fitting.getBytes(StandardCharsets.UTF_8).length > 255) fitting = fitting.substring(0, fitting.length() - 1);
            Map<String, Object> body = new LinkedHashMap<>(options);
            body.put("name", fitting);
            return new Space(this, ask("POST", SPACES, body));
        }

        /** Makes a space for a test, in the place of the one that an earlier run of it has left. */
        private Space makeSpaceAgain(String name) {
            Space space = makeSpace(name, Map.of());
            if (!staysAfterwards) return space;
            for (Map<String, Object> other : Json.objects(ask("GET", SPACES).get("items"))) {
                boolean isLeft = other.containsKey("failure") && space.name.equals(other.get("name"));
                if (isLeft) removeLeft((String) other.get("id"));
            }
            return space;
        }

        private void removeLeft(String id) {
            try {
                ask("DELETE", SPACES + "/" + id);
            } catch (Refused alreadyGone) {
                // Another run has removed it.
            }
        }

        /** Ends the server that {@link #start} has started. */
        @Override
        public void close() {
            if (process == null) return;
            try {
                process.getOutputStream().close();
            } catch (IOException alreadyGone) {
                // It ended by itself.
            }
            ended(process);
        }
    }

    /** A server within the server. Nothing in it can be seen from another one. */
    public static final class Space extends Calls {
        private final Server server;
        private final String id;
        private final String name;

        private Space(Server server, Map<String, Object> made) {
            // Where this process finds the server: it may be in a container that knows itself by another address.
            super(server, URI.create((String) made.get("url")).getPath());
            this.server = server;
            this.id = (String) made.get("id");
            this.name = (String) made.get("name");
        }

        /** Returns the identifier. */
        public String id() {
            return id;
        }

        /** Returns what a client SDK is configured with, beside {@code configuration().get("sdkConfiguration")}. */
        public String baseUrl() {
            return url() + "/enrollment-server";
        }

        /** Says that the test failed: {@code exec --report} and {@code --keep-failed} keep the space's state then. */
        public void markFailed(String reason) {
            server.ask("POST", Server.SPACES + "/" + id + "/failure",
                    Map.of("reason", reason.substring(0, Math.min(reason.length(), 60_000))));
        }

        /** Removes the space, and everything in it. */
        public void remove() {
            server.ask("DELETE", Server.SPACES + "/" + id);
        }

        /** Returns what the server has refused here, each with its reason and the address of its entry in the console. */
        String refusals() {
            String console = url() + "/console/";
            try {
                List<String> lines = new ArrayList<>();
                for (Map<String, Object> entry : journal(Map.of("verdict", "refused", "limit", 20))) {
                    lines.add(0, "\n  %s %s: %s, %s; see %s#journal/%s".formatted(entry.get("method"), entry.get("path"),
                            entry.get("status"), entry.get("finding"), console, entry.get("id")));
                }
                for (Map<String, Object> operation : Json.objects(ask("GET", "/_emulator/operations?status=PENDING&limit=5").get("items"))) {
                    lines.add("\n  %s of %s is PENDING: %s".formatted(operation.get("operationType"), operation.get("userId"),
                            awaited((String) operation.get("operationId"))));
                }
                return lines.isEmpty() ? " nothing; see " + console : String.join("", lines);
            } catch (RuntimeException error) { // the test's own failure is what matters
                return " its journal cannot be read: " + error;
            }
        }
    }

    /**
     * The bank's address: an HTTP server that keeps what it is sent.
     *
     * <p>It listens on loopback, or, when the server reaches this process by the name of another host, to every address.
     */
    public static final class Callbacks implements CloseableResource, AutoCloseable {
        private final List<Map<String, Object>> received = new CopyOnWriteArrayList<>();
        private final BlockingQueue<Map<String, Object>> news = new LinkedBlockingQueue<>();
        private final ExecutorService threads = Executors.newCachedThreadPool();
        private final HttpServer server;
        private final String url;
        private volatile int status = 200;

        public Callbacks(String host) {
            boolean isLocal = host.equals("127.0.0.1");
            try {
                InetAddress loopback = InetAddress.getByName("127.0.0.1");
                server = HttpServer.create(isLocal ? new InetSocketAddress(loopback, 0) : new InetSocketAddress(0), 0);
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
            url = "http://" + host + ":" + server.getAddress().getPort() + "/";
            server.setExecutor(threads);
            server.createContext("/", exchange -> {
                try (exchange) {
                    byte[] bytes = exchange.getRequestBody().readAllBytes();
                    Map<String, Object> body = Json.object(Json.read(new String(bytes, StandardCharsets.UTF_8)));
                    received.add(body);
                    news.add(body);
                    exchange.sendResponseHeaders(status, -1);
                }
            });
            server.start();
        }

        /** Returns the address. */
        public String url() {
            return url;
        }

        /** Returns everything that came, oldest first. */
        public List<Map<String, Object>> received() {
            return List.copyOf(received);
        }

        /** Sets the status to respond with. What fails is sent again, if the callback says so. */
        public void setStatus(int status) {
            this.status = status;
        }

        /** Has the server tell this address of {@code OPERATION} or {@code ACTIVATION} changes. */
        public void register(Calls space, String kind, Map<String, ?> more) {
            Map<String, Object> body = new LinkedHashMap<>(Map.of(
                    "name", "bank", "type", kind, "callbackUrl", url, "attributes", List.of("status", "userId")));
            body.putAll(more);
            space.ask("POST", "/v2/callbacks", body);
        }

        /** Waits at most 30 seconds for the next callback that has these members, and returns it, passing others over. */
        public Map<String, Object> next(Map<String, ?> members) {
            return next(members, Duration.ofSeconds(30));
        }

        /** Waits for the next callback that has these members, and returns it, passing others over. */
        public Map<String, Object> next(Map<String, ?> members, Duration within) {
            long deadline = System.nanoTime() + within.toNanos();
            try {
                while (true) {
                    Map<String, Object> body = news.poll(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
                    if (body == null) break;
                    if (body.entrySet().containsAll(members.entrySet())) return body;
                }
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            }
            throw new AssertionError("no callback with " + members + " within " + within.toMillis() + " ms, but " + received);
        }

        @Override
        public void close() {
            server.stop(0);
            threads.shutdownNow();
        }
    }

    /** JSON as maps, lists, strings, booleans, null and numbers: a long or else a double. A JSON library does as well. */
    public static final class Json {
        private final String text;
        private int at;

        private Json(String text) {
            this.text = text;
        }

        /** Reads a value. Throws {@code IllegalArgumentException} if the text is no JSON. */
        public static Object read(String text) {
            Json json = new Json(text);
            Object value = json.value(0);
            if (json.next() != '\0') throw json.error();
            return value;
        }

        /** Writes a value; what is no map, list, number, boolean or null is written as a string. */
        public static String write(Object value) {
            if (value == null || value instanceof Number || value instanceof Boolean) return String.valueOf(value);
            if (value instanceof Map<?, ?> map) {
                return map.entrySet().stream().map(it -> quoted(it.getKey().toString()) + ":" + write(it.getValue()))
                        .collect(Collectors.joining(",", "{", "}"));
            }
            if (value instanceof List<?> list) return list.stream().map(Json::write).collect(Collectors.joining(",", "[", "]"));
            return quoted(value.toString());
        }

        private static String quoted(String string) {
            StringBuilder all = new StringBuilder("\"");
            for (char it : string.toCharArray()) {
                if (it == '"' || it == '\\') all.append('\\').append(it);
                else if (it < ' ') all.append("\\u%04x".formatted((int) it));
                else all.append(it);
            }
            return all.append('"').toString();
        }

        @SuppressWarnings("unchecked") // the names in an object are strings
        static Map<String, Object> object(Object value) {
            if (value instanceof Map<?, ?> map) return (Map<String, Object>) map;
            throw new IllegalArgumentException("no JSON object: " + value);
        }

        static List<Map<String, Object>> objects(Object value) {
            if (value instanceof List<?> list) return list.stream().map(Json::object).toList();
            throw new IllegalArgumentException("no JSON array: " + value);
        }

        private IllegalArgumentException error() {
            return new IllegalArgumentException("no JSON at " + at + ": " + text.substring(0, Math.min(text.length(), 200)));
        }

        /** Returns the next character that is no white space, without taking it; a zero at the end. */
        private char next() {
            while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
            return at < text.length() ? text.charAt(at) : '\0';
        }

        private boolean takes(char wanted) {
            boolean isNext = next() == wanted;
            if (isNext) at++;
            return isNext;
        }

        private void expect(char wanted) {
            if (!takes(wanted)) throw error();
        }

        private Object value(int depth) {
            if (depth > 500) throw error();
            if (next() == '"') return string();
            if (takes('{')) {
                Map<String, Object> map = new LinkedHashMap<>();
                if (takes('}')) return map;
                do {
                    String name = string();
                    expect(':');
                    map.put(name, value(depth + 1));
                } while (takes(','));
                expect('}');
                return map;
            }
            if (takes('[')) {
                List<Object> list = new ArrayList<>();
                if (takes(']')) return list;
                do list.add(value(depth + 1)); while (takes(','));
                expect(']');
                return list;
            }
            return word();
        }

        private Object word() {
            int start = at;
            while (at < text.length() && ",]}: \t\r\n".indexOf(text.charAt(at)) < 0) at++;
            String word = text.substring(start, at);
            switch (word) {
                case "true", "false": return word.equals("true");
                case "null": return null;
                default:
            }
            if (!word.matches("-?\\d+(\\.\\d+)?([eE][+-]?\\d+)?")) throw error();
            try {
                return Long.valueOf(word);
            } catch (NumberFormatException noLong) {
                return Double.valueOf(word);
            }
        }

        private String string() {
            expect('"');
            StringBuilder all = new StringBuilder();
            while (at < text.length()) {
                char it = text.charAt(at++);
                if (it == '"') return all.toString();
                all.append(it == '\\' ? escaped() : it);
            }
            throw error();
        }

        private char escaped() {
            if (at >= text.length()) throw error();
            char it = text.charAt(at++);
            if (it != 'u') {
                int which = "\"\\/bfnrt".indexOf(it);
                if (which < 0) throw error();
                return "\"\\/\b\f\n\r\t".charAt(which);
            }
            if (at + 4 > text.length()) throw error();
            at += 4;
            return (char) Integer.parseInt(text.substring(at - 4, at), 16);
        }
    }
}
