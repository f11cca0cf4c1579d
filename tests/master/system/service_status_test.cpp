#include "daemons/master/system/service_status.h"
#include <doctest/doctest.h>

using master::ServiceStatus;
using enum master::ServiceStatus::Stage;

TEST_CASE("how the service stands, in a line for systemd") {
    struct Case {
        ServiceStatus status;
        std::string_view text;
    };
    const Case cases[] = {
        {{starting, 9, "smtpd/0, queue-manager", ""}, "starting: waiting for smtpd/0, queue-manager"},
        {{starting, 9, "", ""}, "starting"},
        {{running, 9, "", ""}, "running: 9 processes"},
        {{running, 9, "", "3 messages queued, 1 being delivered"}, "running: 3 messages queued, 1 being delivered"},
        {{running, 9, "smtpd/0 (no descriptors)", "3 messages queued"},
         "running: 3 messages queued; not running: smtpd/0 (no descriptors)"},
        {{reloading, 9, "local", "3 messages queued"}, "applying the configuration: waiting for local"},
        {{stopping, 9, "queue-manager", "3 messages queued"}, "stopping: waiting for queue-manager"},
        {{running, 9, "", "two\nlines\x7f"}, "running: two lines "},
    };
    for (const auto& [status, text] : cases) CHECK(master::text_of(status) == text);
}

TEST_CASE("the line has an end, and never half a character") {
    for (std::size_t n = 250; n < 310; ++n) {
        const auto text = master::text_of({running, 1, "", std::string(n, 'x') + "\u00e4\u20ac\U0001f4ec\u00e4\u20ac"});
        CHECK(text.size() <= master::max_status_text);
        const auto kept = text.ends_with("...") ? text.substr(0, text.size() - 3) : text;
        CHECK((kept.back() == 'x' || kept.ends_with("\u00e4") || kept.ends_with("\u20ac") ||
               kept.ends_with("\U0001f4ec")));
    }
}
