// What CORE answers otherwise than CEL: each query, what is expected, and what CORE reports. Times are in nanoseconds.
#include "core.hpp"

int main() {
    const std::int64_t s = 1'000'000'000;
    show("SELECT * FROM S WHERE A ; (B :+)", {{A}, {B}, {C}, {B}}, "{0 1} {0 3}");
    show("SELECT * FROM S WHERE (C OR B+) ; A", {{C}, {A}, {B}, {A}, {A}}, "{0 1} {0 3} {2 3} {0 4} {2 4}");
    show("SELECT * FROM S WHERE B : (C ; A)+", {{B}, {C}, {A}, {C}, {A}}, "{0 1 2} {0 1 2 3 4} {0 1 4}");
    show("SELECT STRICT * FROM S WHERE A ; B", {{A}, {C}, {B}}, "nothing");
    show("SELECT NEXT * FROM S WHERE A ; B", {{A}, {A}, {B}}, "{0 2}");
    show("SELECT LAST * FROM S WHERE A ; B", {{A}, {A}, {B}}, "{1 2}");
    show("SELECT MAX * FROM S WHERE A+", {{A}, {A}}, "{0} {0 1}");
    show("SELECT * FROM S WHERE A : B PARTITION BY [x]", {{A, 1}, {A, 2}, {B, 1}}, "a choice: neighbours of one key");
    show("SELECT * FROM S WHERE A FILTER A[5 = x]", {{A, 5}, {A, 6}}, "{0}");
    show("SELECT * FROM S WHERE A FILTER A[5 < x]", {{A, 4}, {A, 5}, {A, 6}}, "{2}");
    show("SELECT * FROM S WHERE A FILTER A[x < 2.5]", {{A, 2}, {A, 3}}, "{0}");
    show("SELECT * FROM S WHERE A FILTER A[x IN {1, 2}]", {{A, 1}, {A, 3}}, "{0}");
    show("SELECT * FROM S WHERE A FILTER A[s = 'it''s']", {{A, 0, 0, "it's"}}, "{0}");
    show("SELECT * FROM S WHERE A ; B", {{A, 0, 0, "", 0}, {B, 0, 0, "", 2 * s}}, "{0 1}");
    show("SELECT * FROM S WHERE A ; B WITHIN 1.5 SECONDS", {{A, 0, 0, "", 0}, {B, 0, 0, "", 3 * s / 2}}, "{0 1}");
    show("SELECT * FROM S WHERE A ; B WITHIN 1 MINUTE 30 SECONDS", {{A, 0, 0, "", 0}, {B, 0, 0, "", 60 * s}}, "{0 1}");
    show("SELECT * FROM S WHERE A ; B WITHIN 1 EVENTS", {{A}, {B}}, "a choice: n EVENTS spans n + 1 positions");
    show("SELECT * FROM S WHERE A ; B WITHIN 2 [x]", {{A, 1}, {B, 2}, {B, 3}}, "a choice: n [x] is a difference of n - 1");
    show("SELECT * FROM S WHERE A FILTER A[x > -3]", {{A}}, "{0}");
}
