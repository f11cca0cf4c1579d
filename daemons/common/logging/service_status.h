// What `postrider status` reports about one service that is queried about mail (a policy service, a
// milter), from the first unanswered request to the next answer. Knows no protocol; logs nothing.
#pragma once
#include "daemons/common/config/sections/server/filters.h"
#include <functional>
#include <string>
#include <string_view>

namespace common {

class ServiceStatus {
public:
    ServiceStatus() = default; // reports nothing
    // `report`: a line for status; "" clears it. `what`: "milter spam". `on_failure`: what happens to mail.
    ServiceStatus(std::function<void(std::string_view)> report, std::string what, config::OnFailure on_failure)
        : report_(std::move(report)), what_(std::move(what)), on_failure_(on_failure) {}

    void answered() const;
    void failed(std::string_view why) const;

private:
    std::function<void(std::string_view)> report_;
    std::string what_;
    config::OnFailure on_failure_ = config::OnFailure::tempfail;
};

} // namespace common
