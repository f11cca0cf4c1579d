#include "daemons/postrider/service/health.h"
#include <doctest/doctest.h>

using namespace postrider;
using nlohmann::json;

namespace {

StatusData working() {
    StatusData data;
    data.master = {{"state", "running"}};
    data.processes = json::array({{{"process", "router"}, {"role", "router"}, {"state", "running"}},
                                  {{"process", "smtpd/0"}, {"role", "smtpd"}, {"state", "running"}},
                                  {{"process", "smtpd/1"}, {"role", "smtpd"}, {"state", "running"}}});
    data.queue = {{"messages", 12}, {"accepting", true}, {"accepting_reason", ""}};
    return data;
}

std::string brief(const StatusData& data) { return health_line(health_of(&data), false); }
std::string ready(const StatusData& data) { return health_line(health_of(&data), true); }

} // namespace

TEST_CASE("a service that works is healthy and ready") {
    const auto data = working();
    CHECK(brief(data) == "healthy; 12 messages queued");
    CHECK(ready(data) == "ready; 12 messages queued");
}

TEST_CASE("a full disk is no fault of the service, but no mail is accepted") {
    auto data = working();
    data.queue["accepting"] = false;
    data.queue["accepting_reason"] = "the disk is full";
    CHECK(brief(data) == "healthy; accepts no mail: the disk is full; 12 messages queued");
    CHECK(ready(data) == "not ready: the disk is full; 12 messages queued");
    CHECK(health_of(&data).fault.empty());
}

TEST_CASE("a process that does not run is a fault; mail is accepted as long as one server runs") {
    auto data = working();
    data.processes[1]["state"] = "waiting";
    data.processes[1]["problem"] = "killed by signal 9";
    CHECK(brief(data) == "unhealthy: smtpd/0 is waiting: killed by signal 9; 12 messages queued");
    CHECK(ready(data) == "ready; 12 messages queued");
    data.processes[2]["state"] = "starting";
    CHECK(ready(data) == "not ready: no SMTP server is running; 12 messages queued");
}

TEST_CASE("without queue-manager, while it starts or stops, and when it does not run") {
    auto data = working();
    data.queue = nullptr;
    data.queue_error = "connection refused";
    CHECK(brief(data) == "unhealthy: the queue-manager does not answer (connection refused)");
    CHECK(ready(data) == "not ready: the queue-manager does not answer (connection refused)");
    data = working();
    data.master["state"] = "stopping";
    CHECK(brief(data) == "unhealthy: it is stopping; 12 messages queued");
    CHECK(ready(data) == "not ready: it is stopping; 12 messages queued");
    CHECK(health_line(health_of(nullptr), false) == "unhealthy: it is not running");
    CHECK(health_line(health_of(nullptr), true) == "not ready: it is not running");
}
