package wirelap.contract;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class JobTest {
    private static final String WHOLE =
            """
            {"contract": 1, "workload": "download", "transport": "h2", "tls": "1.3", "negotiation": "known",
             "pattern": {"kind": "staggered", "every_ms": 12.5}, "connections": 3, "keep_alive": false, "resumption": false,
             "fetches": [{"id": 7, "url": "https://origin.test:444/a?b=c", "file": "x"},
                         {"id": 8, "url": "http://origin.test/", "file": null}],
             "trust": "/root.pem", "output": "/out", "key_log": null, "warmup": 2, "timeout_ms": 500, "later": true}
            """;

    @Test
    void everyFieldOfAJobIsRead() throws BadJob {
        Job job = read(WHOLE);
        assertEquals("h2", job.transport());
        assertTrue(job.isSecure() && job.isMultiplexed() && job.isKnown());
        assertEquals(new Pattern(Pattern.Kind.STAGGERED, 12.5), job.pattern());
        assertEquals(3, job.connections());
        assertFalse(job.keepAlive() || job.resumption());
        assertEquals(0, job.idleConnections());
        assertEquals(6, job.connectionsInAll());
        assertEquals(Path.of("/out/x"), job.fetches().get(0).file());
        assertEquals(444, job.fetches().get(0).port());
        assertEquals(8, job.fetches().get(1).id());
        assertNull(job.fetches().get(1).file());
        assertEquals(80, job.fetches().get(1).port());
        assertEquals(Path.of("/root.pem"), job.trust());
        assertEquals(2, job.warmup());
        assertEquals(500, job.timeoutMillis());
    }

    @Test
    void whatIsNoJobIsRefusedInWords() {
        refused("rubbish", "JSON");
        refused(WHOLE.replace("\"contract\": 1", "\"contract\": 2"), "version 1");
        refused(WHOLE.replace("staggered", "sometimes"), "sometimes");
        refused(WHOLE.replace("\"output\": \"/out\"", "\"output\": null"), "output");
        refused(WHOLE.replace("\"transport\"", "\"transports\""), "transport");
        refused(WHOLE.replace("http://origin.test/", "http://no host/"), "fetches[1]");
    }

    @Test
    void multiplexedTransportsAreRefusedInTheClearAndOthersAlways() throws BadJob {
        assertTrue(Subject.unlessOneOf(read(WHOLE), "h2").isEmpty());
        assertTrue(Subject.unlessOneOf(read(WHOLE.replace("1.3", "none")), "h2").isPresent());
        assertTrue(Subject.unlessOneOf(read(WHOLE), "http/1.1").isPresent());
    }

    @Test
    void http11WithoutKeepAliveClosesEveryConnection() throws BadJob {
        assertFalse(read(WHOLE).closes());
        assertTrue(read(WHOLE.replace("h2", "http/1.1")).closes());
        assertFalse(read(WHOLE.replace("h2", "http/1.1").replace("\"keep_alive\": false", "\"keep_alive\": true")).closes());
    }

    @Test
    void aClientThatSaysNothingOfItselfSpeaksHttp11Alone() throws BadJob {
        Subject plain = new Subject() {
            @Override
            public void open(Job job) {}

            @Override
            public void fetch(Fetch fetch, Exchange exchange) {}
        };
        assertTrue(plain.refusal(read(WHOLE)).isPresent());
        assertTrue(plain.refusal(read(WHOLE.replace("h2", "http/1.1"))).isEmpty());
    }

    private static Job read(String text) throws BadJob {
        return Job.read(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
    }

    private static void refused(String text, String word) {
        String words = assertThrows(BadJob.class, () -> read(text)).getMessage();
        assertTrue(words.contains(word), words);
    }
}
