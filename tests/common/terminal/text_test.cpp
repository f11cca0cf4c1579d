#include "daemons/postrider/command/command.h"
#include "daemons/common/terminal/text.h"
#include <doctest/doctest.h>

using namespace postrider;
using nlohmann::json;

TEST_CASE("ages, sizes, counts") {
    CHECK(age_text(-1) == "-");
    CHECK(age_text(99) == "99s");
    CHECK(age_text(100) == "1m");
    CHECK(age_text(3 * 3600 + 300) == "3h05m");
    CHECK(age_text(5 * 86400) == "5d00h");
    CHECK(duration_text(45) == "45 s");
    CHECK(duration_text(3 * 3600 + 720) == "3 h 12 min");
    CHECK(size_text(999) == "999");
    CHECK(size_text(4200) == "4.1K");
    CHECK(size_text(12'000'000) == "11M");
    CHECK(count_text(1, "message") == "1 message");
    CHECK(count_text(0, "message") == "0 messages");
    CHECK(time_text(0) == "-");
}

TEST_CASE("a text is cut to its place, by characters, and cannot control the terminal") {
    CHECK(truncated("abcdef", 6) == "abcdef");
    CHECK(truncated("abcdefg", 6) == "abcde…");
    CHECK(truncated("abcdefg\n", 0) == "abcdefg?");
    CHECK(truncated("grün-grün", 5) == "grün…");
    CHECK(truncated("a\x1b[2Jb\n", 20) == "a?[2Jb?");
}

TEST_CASE("a table") {
    Table table({"Name", ">Count", "Why"});
    CHECK(table.empty());
    table.row({"a", "5", "because"});
    table.row({"longer", "1234", ""});
    CHECK(table.text(0) == "Name    Count  Why\na           5  because\nlonger   1234\n");
    CHECK(table.text(20, "  ") == "  Name    Count  Why\n  a           5  be…\n  longer   1234\n");
}

TEST_CASE("members that are not there or of another kind") {
    const json object = {{"n", 5}, {"t", "x"}, {"f", true}, {"l", {1, 2}}};
    CHECK(number_of(object, "n") == 5);
    CHECK(number_of(object, "t") == 0);
    CHECK(text_of(object, "n") == "");
    CHECK(flag_of(object, "f"));
    CHECK(!flag_of(object, "z"));
    CHECK(list_of(object, "l").size() == 2);
    CHECK(list_of(object, "t").empty());
}

TEST_CASE("why a link's or queue's mail waits: the pause before the last error, and that before all else") {
    const json failed = {{"last_error", "refused"}, {"idle_why", "not due yet"}, {"paused", false}};
    CHECK(wait_reason(failed) == "refused");
    json paused = failed;
    paused["paused"] = true;
    CHECK(wait_reason(paused) == "not due yet");
    CHECK(wait_reason({{"last_error", ""}, {"idle_why", "nothing is due"}, {"paused", false}}) == "nothing is due");
}

TEST_CASE("the status page says what is wrong first") {
    StatusData data;
    data.master = {{"state", "running"}, {"since", 1000}, {"pid", 7}, {"file", "p.toml"}, {"generation", 2}};
    data.processes =
        json::array({{{"process", "smtpd 1"}, {"pid", 8}, {"state", "ready"}, {"since", 1000}}});
    data.queue = {
        {"messages", 12},
        {"accepting", false},
        {"accepting_why", "the disk is full"},
        {"delivering", true},
        {"rates", {{"in", 1.25}, {"out", 0.0}}},
        {"drain_seconds", -1},
        {"oldest", {{"id", "05A1"}, {"arrival", 400}}},
        {"states", {{"due", 10}, {"retrying", 2}, {"held", 0}}},
        {"pauses", {{{"scope", "link"}, {"name", "mx"}, {"who", "ann"}, {"why", "moving"}, {"since", 1900}}}},
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
           {"waits_for", "450 4.2.0 greylisted"},
           {"idle_why", "what waits is not due yet"}}}},
        {"other_links", {{"links", 3}, {"due", 1}, {"waiting", 6}, {"deliveries", 7}}},
        {"troubles", {"spool: something"}}};
    CHECK(status_page(data, 2000, 0) ==
          R"(postrider is running for 16 min (pid 7), configuration p.toml (generation 2)

Accepting   NO: the disk is full
Delivering  yes
Queue       12 messages; the oldest has been here 26 min (05A1)
            10 due, 2 retrying
Rates       1.2/s in, 0.0/s out over the last minute; nothing leaves
Paused      link mx by ann, 100 s ago: moving
Trouble     spool: something

Links, most overdue first:
  Link          State  Overdue  Waiting  Queued  Conn  Next try  Failures  Why it waits
  mx.example    retry       10        2      12     0  5m               4  connect to mx.example: refused
  grey.example  ready        0      800     800     0  5m                  450 4.2.0 greylisted
  3 more links               1        6       7                            "postrider link list" shows them

  Process  Pid  State  Since   Restarts  Confined
  smtpd 1    8  ready  16 min         0
)");
    data.queue["drain_seconds"] = 90;
    CHECK(status_page(data, 2000, 0).find("last minute; what is due is gone in about 90 s\n") !=
          std::string::npos);
    data.queue["drain_seconds"] = 0;
    data.queue["states"] = {{"retrying", 12}};
    CHECK(status_page(data, 2000, 0).find("last minute; nothing is due\n") != std::string::npos);
    data.queue = nullptr;
    data.queue_error = "no answer";
    CHECK(status_page(data, 2000, 0).find("does not answer (no answer)") != std::string::npos);
}
