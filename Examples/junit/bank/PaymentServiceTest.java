package bank;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import mobiletoken.MobileTokenEmulator;
import mobiletoken.MobileTokenEmulator.Server;
import mobiletoken.MobileTokenEmulator.Space;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(MobileTokenEmulator.class)
class PaymentServiceTest {
    private PaymentService bank;

    @BeforeEach
    void start(Server server, Space space) throws IOException {
        bank = new PaymentService(space.url(), server.user(), server.password());
        space.ask("POST", "/v2/callbacks", Map.of("name", "bank", "type", "OPERATION", "callbackUrl", bank.callbackUrl(),
                "attributes", List.of("status")));
    }

    @AfterEach
    void stop() {
        bank.close();
    }

    @Test
    void anApprovedPaymentIsPaid(Space space) throws IOException {
        space.makeDevice("alice", "approve");
        String payment = bank.pay("alice", "20");
        space.settle(); // the phone has decided, and the bank has answered each callback
        assertEquals("PAID", bank.state(payment));
    }

    @Test
    void aRejectedPaymentIsRefused(Space space) throws IOException {
        space.makeDevice("alice", "reject", Map.of("reason", "INCORRECT_DATA"));
        String payment = bank.pay("alice", "20");
        space.settle();
        assertEquals("REFUSED", bank.state(payment));
        assertEquals("INCORRECT_DATA", space.waitFor(payment).get("rejectReason"));
    }

    @Test
    void aPaymentThatNobodyDecidesIsRefusedInTheEnd(Space space) throws IOException {
        space.freeze();
        String payment = bank.pay("alice", "20");
        space.advance(299);
        space.settle();
        assertEquals("WAITING", bank.state(payment));
        space.advance(7); // as real servers do, this one tells of what expired up to five seconds later
        space.settle();
        assertEquals("REFUSED", bank.state(payment));
    }

    @Test
    void aCustomerMayTakeTime(Space space) throws IOException {
        space.freeze();
        space.makeDevice("alice", "approve", Map.of("after", 240));
        String payment = bank.pay("alice", "20");
        space.settle(); // the phone has been shown the payment: its 240 seconds begin
        space.advance(239);
        space.settle();
        assertEquals("WAITING", bank.state(payment));
        space.advance(1);
        space.settle();
        assertEquals("PAID", bank.state(payment));
    }

    @Test
    void aForgedCallbackPaysNothing() throws IOException, InterruptedException {
        String payment = bank.pay("alice", "20");
        HttpRequest forged = HttpRequest.newBuilder(URI.create(bank.callbackUrl())).POST(HttpRequest.BodyPublishers.ofString(
                MobileTokenEmulator.Json.write(Map.of("operationId", payment, "status", "APPROVED")))).build();
        HttpClient.newHttpClient().send(forged, HttpResponse.BodyHandlers.discarding());
        assertEquals("WAITING", bank.state(payment));
    }

    @Test
    void aServerThatFailsLeavesNoPayment(Space space) throws IOException {
        space.fail("/v2/operations", 1, Map.of("status", 503));
        assertThrows(IOException.class, () -> bank.pay("alice", "20"));
        assertEquals("WAITING", bank.state(bank.pay("alice", "20")));
    }
}
