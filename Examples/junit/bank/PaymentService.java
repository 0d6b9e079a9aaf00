package bank;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import mobiletoken.MobileTokenEmulator.Json;

/** A bank's back end in small: it asks for the approval of a payment, hears of the decision by a callback, and acts on it. */
final class PaymentService implements AutoCloseable {
    private final HttpClient client = HttpClient.newHttpClient();
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final HttpServer server;
    private final String cloud;
    private final String authorization;
    /** The states of the payments, by the identifiers of their operations. */
    private final Map<String, String> payments = new HashMap<>();

    /** Connects to PowerAuth Cloud with a user and a password, and listens on a free port of loopback. */
    PaymentService(String cloud, String user, String password) throws IOException {
        this.cloud = cloud;
        byte[] credentials = (user + ":" + password).getBytes(StandardCharsets.UTF_8);
        this.authorization = "Basic " + Base64.getEncoder().encodeToString(credentials);
        server = HttpServer.create(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0), 0);
        server.setExecutor(threads);
        server.createContext("/callbacks", this::answerCallback);
        server.start();
    }

    String callbackUrl() {
        return "http://127.0.0.1:" + server.getAddress().getPort() + "/callbacks";
    }

    /** Asks a customer for the approval of a payment, and returns its identifier. */
    // Synchronized: a callback that comes before the response waits, instead of finding no payment.
    synchronized String pay(String customer, String amount) throws IOException {
        Map<?, ?> operation = call("POST", "/v2/operations", Map.of(
                "userId", customer, "template", "payment", "parameters", Map.of("amount", amount), "expiresIn", 300));
        String id = (String) operation.get("operationId");
        payments.put(id, "WAITING");
        return id;
    }

    /** Returns the state of a payment: WAITING, PAID or REFUSED. */
    synchronized String state(String payment) {
        return payments.get(payment);
    }

    private void answerCallback(HttpExchange exchange) throws IOException {
        try (exchange) {
            Map<?, ?> body = (Map<?, ?>) Json.read(new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8));
            follow((String) body.get("operationId"));
            exchange.sendResponseHeaders(204, -1);
        }
    }

    /** Acts on the state of an operation. A callback says only that it changed: anybody could have sent it. */
    private synchronized void follow(String id) throws IOException {
        if (!"WAITING".equals(payments.get(id))) return;
        switch ((String) call("GET", "/v2/operations/" + id, null).get("status")) {
            case "PENDING" -> { }
            case "APPROVED" -> payments.put(id, "PAID");
            default -> payments.put(id, "REFUSED");
        }
    }

    private Map<?, ?> call(String method, String path, Object body) throws IOException {
        HttpRequest request = HttpRequest.newBuilder(URI.create(cloud + path))
                .header("Authorization", authorization)
                .header("Content-Type", "application/json")
                .method(method, body == null
                        ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(Json.write(body)))
                .build();
        try {
            HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
            if (response.statusCode() != 200) throw new IOException("PowerAuth Cloud answered " + response.statusCode());
            return (Map<?, ?>) Json.read(response.body());
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new IOException(error);
        }
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
