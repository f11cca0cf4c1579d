#include "daemons/postrider/service/status.h"
#include <doctest/doctest.h>

using namespace postrider;
using nlohmann::json;

TEST_CASE("the status page says what is wrong first") {
    StatusData data;
    data.master = {{"state", "running"}, {"since", 1000}, {"pid", 7}, {"file", "p.toml"}, {"generation", 2}};
    data.processes = json::array({{{"process", "smtpd 1"}, {"pid", 8}, {"state", "ready"}, {"since", 1000}}});
    data.queue = {
        {"messages", 12},
        {"accepting", false},
        {"accepting_reason", "the disk is full"},
        {"delivering", true},
        {"rates", {{"in", 1.25}, {"out", 0.0}}},
        {"drain_seconds", -1},
        {"oldest", {{"id", "05A1"}, {"arrival", 400}}},
        {"states", {{"due", 10}, {"retrying", 2}, {"held", 0}}},
        {"pauses", {{{"scope", "link"}, {"name", "mx"}, {"by", "ann"}, {"reason", "moving"}, {"since", 1900}}}},
        {"links",
         {{{"link", "mx.example"},
           {"state", "retry"},
           {"due", 10},
           {"waiting", 2},
           {"deliveries", 12},
           {"failures", 4},
           {"next_attempt", 2300},
           {"last_error", "connect to mx.example: refused"}},
          {{"link", "grey.example"},
           {"state", "ready"},
           {"due", 0},
           {"waiting", 800},
           {"deliveries", 800},
           {"next_attempt", 2300},
           {"waiting_for", "450 4.2.0 greylisted"},
           {"idle_reason", "no waiting message is due yet"}}}},
        {"other_links", {{"links", 3}, {"due", 1}, {"waiting", 6}, {"deliveries", 7}}},
        {"problems", {"spool: something"}}};
    CHECK(status_page(data, 2000, 0) ==
          R"(postrider is running for 16 min (pid 7), configuration p.toml (generation 2)

Accepting   NO: the disk is full
Delivering  yes
Queue       12 messages; the oldest arrived 26 min ago (05A1)
            10 due, 2 retrying
Rates       1.2/s in, 0.0/s out over the last minute; nothing leaves
Paused      link mx by ann, 100 s ago: moving
Problem     spool: something

Links, most overdue first:
  Link          State  Overdue  Waiting  Queued  Conn  Next attempt  Failures  Why it waits
  mx.example    retry       10        2      12     0  5m                   4  connect to mx.example: refused
  grey.example  ready        0      800     800     0  5m                      450 4.2.0 greylisted
  3 more links               1        6       7                                "postrider link list" shows them

  Process  Pid  State  Since   Restarts  Confined
  smtpd 1    8  ready  16 min         0
)");
    data.queue["drain_seconds"] = 90;
    CHECK(status_page(data, 2000, 0).find("last minute; estimated drain time: 90 s\n") != std::string::npos);
    data.queue["drain_seconds"] = 0;
    data.queue["states"] = {{"retrying", 12}};
    CHECK(status_page(data, 2000, 0).find("last minute; nothing is due\n") != std::string::npos);
    data.queue = nullptr;
    data.queue_error = "no answer";
    CHECK(status_page(data, 2000, 0).find("does not answer (no answer)") != std::string::npos);
}
