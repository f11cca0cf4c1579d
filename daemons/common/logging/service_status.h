// What `postrider status` says of one service that is asked about mail (a policy service, a milter), from the first
// question it leaves unanswered to the next answer. Knows no protocol; logs nothing.
#pragma once
#include "daemons/common/config/sections/server/filters.h"
#include <functional>
#include <string>
#include <string_view>

namespace common {

class Availability {
public:
    Availability() = default; // nobody wants to know
    // `tell`: a line for status; "" clears it. `what`: "milter spam". `meanwhile`: what becomes of mail.
    Availability(std::function<void(std::string_view)> tell, std::string what, config::OnFailure meanwhile)
        : tell_(std::move(tell)), what_(std::move(what)), meanwhile_(meanwhile) {}

    void answered() const;
    void failed(std::string_view why) const;

private:
    std::function<void(std::string_view)> tell_;
    std::string what_;
    config::OnFailure meanwhile_ = config::OnFailure::tempfail;
};

} // namespace common
