// Which addresses may be asked about at servers, and when: one at a time for each link, not faster than a rate, and a
// bounded number in all; links take turns. What is too much is refused at once, never kept for long. Pure: the clock is
// the caller's.
// Knows addresses and links by name only.
#pragma once
#include "libsmtp/text/time_types.h"
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace decide::verification {

class ProbeAdmission {
public:
    struct Limits {
        std::size_t addresses = 1000;      // whose route is asked for, that wait, or are at servers
        std::size_t probes = 50;           // of them at servers
        std::size_t waiting_for_link = 50; // of each
        std::size_t links = 10'000;        // that are remembered for their rate
        std::uint32_t per_minute = 60;     // probes of a link; as many as of 10 seconds may come at once
        smtp::Duration rest{};             // of a link that could not be asked
        bool operator==(const Limits&) const = default;
    };
    enum class Verdict : std::uint8_t { begin, wait, refuse };
    enum class LinkState : std::uint8_t { answers, fails };

    explicit ProbeAdmission(const Limits& limits) : limits_(limits) {}
    void configure(const Limits& limits) { limits_ = limits; }

    // Its check begins. False: it is under way already, or too many others are.
    bool begin_check(const std::string& address);
    // It is to be asked about at a server of this link. Refused: closed as well. Waiting: next() has it later.
    Verdict admit(const std::string& address, std::string_view link, smtp::Monotonic now);
    // Those that waited and may begin now.
    std::vector<std::string> next(smtp::Monotonic now);
    // When next() is to be called; none: no address waits for the time.
    std::optional<smtp::Monotonic> wake() const;
    // It is over, in whatever state. Of a link that fails, those that waited for it are closed too, and returned.
    std::vector<std::string> close(const std::string& address, LinkState link, smtp::Monotonic now);

    bool is_open(const std::string& address) const { return checks_.contains(address); }
    std::size_t size() const { return checks_.size(); }
    std::size_t at_servers() const { return probes_; }

private:
    struct Check {
        std::string link = {}; // "": where it goes is not known yet
        bool at_server = false;
    };
    struct Link {
        bool busy = false;
        std::deque<std::string> waiting = {};
        smtp::Monotonic next{};  // when the next probe would keep to the rate
        smtp::Monotonic rests{}; // until then
        bool idle(smtp::Monotonic now) const { return !busy && waiting.empty() && next <= now && rests <= now; }
    };
    smtp::Duration interval() const {
        return smtp::Duration(std::chrono::minutes(1)) / std::max<std::uint32_t>(limits_.per_minute, 1);
    }
    smtp::Monotonic ready_at(const Link& link) const {
        return link.next - std::max(smtp::Duration(std::chrono::seconds(10)) - interval(), smtp::Duration::zero());
    }
    bool may_begin(const Link& link, smtp::Monotonic now) const;
    void begin(Check& check, Link& link, smtp::Monotonic now);
    // Some link whose turn comes before that of a new one may be asked now.
    bool others_ready(smtp::Monotonic now) const;

    Limits limits_;
    std::map<std::string, Check> checks_;
    std::map<std::string, Link, std::less<>> links_;
    std::list<Link*> turns_; // something waits for them, and they are not busy: first come, first served
    std::size_t probes_ = 0;
};

} // namespace decide::verification
