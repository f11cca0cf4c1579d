#include "daemons/metrics/health.h"
#include <doctest/doctest.h>

using namespace metrics;

TEST_CASE("probes are answered with 200 or 503 and the reason") {
    struct Row {
        ServiceHealth health;
        unsigned alive, ready;
        std::string_view ready_text;
    };
    for (const auto& row : {
             Row{{.queue_manager_answers = true, .accepting = true, .listeners = 4}, 200, 200, "ready\n"},
             Row{{.queue_manager_answers = true, .accepting = false, .listeners = 4},
                 200,
                 503,
                 "not ready: no mail is accepted; \"postrider status\" shows why\n"},
             Row{{.queue_manager_answers = true, .accepting = true, .listeners = 0},
                 200,
                 503,
                 "not ready: no listening socket is served\n"},
             // values of a former collection do not count
             Row{{.queue_manager_answers = false, .accepting = true, .listeners = 4},
                 503,
                 503,
                 "not ready: the queue-manager does not answer\n"},
         }) {
        CHECK(healthz(row.health).status == row.alive);
        CHECK(readyz(row.health).status == row.ready);
        CHECK(readyz(row.health).text == row.ready_text);
    }
}
