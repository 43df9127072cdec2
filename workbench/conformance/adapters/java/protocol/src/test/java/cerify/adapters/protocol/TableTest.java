package cerify.adapters.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.LocalDateTime;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

class TableTest {

    @Test
    void timesAreInTheFormOfTheProtocol() {
        LocalDateTime minute = LocalDateTime.of(2020, 1, 2, 3, 4);
        Table table = new Table(List.of("t"), List.of(List.of(minute), List.of(minute.plusNanos(250_000_000))));
        String expected = "[[\"2020-01-02T03:04:00Z\"],[\"2020-01-02T03:04:00.250000Z\"]]";
        assertEquals(expected, table.json().getJSONArray("rows").toString());
    }

    @Test
    void aValueThatJsonDoesNotHaveIsItsText() {
        Table table = new Table(List.of("x"), List.of(Arrays.asList(null, true, 1.5, Double.NaN, 'c')));
        assertEquals("[[null,true,1.5,\"NaN\",\"c\"]]", table.json().getJSONArray("rows").toString());
    }
}
