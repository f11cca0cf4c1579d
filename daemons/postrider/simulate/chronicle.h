// What came to pass in a simulated world: for each link what it took, delivered, gave up, how long mail
// waited and how much of it, interval by interval; and what is worth a line. Values only; knows no engine.
#pragma once
#include "libsmtp/time.h"
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace postrider::simulate {

// One link in one interval.
struct Row {
    std::uint64_t accepted = 0, delivered = 0, reports = 0, notices = 0, tries_failed = 0;
    std::uint64_t backlog = 0, most = 0; // queued at its end; at its fullest
    std::vector<float> delays;           // seconds, of what was delivered
    std::string state;                   // at its end: "ready", "glitch", "retry", "down"
    double delay(double quantile) const; // 0: nothing was delivered
};

struct Happening {
    smtp::Duration at{};
    std::string link; // "" of the scenario itself
    std::string what;
};

class Chronicle {
public:
    Chronicle(smtp::Duration duration, smtp::Duration interval);

    struct Link {
        std::vector<Row> rows;    // for the timetable
        std::vector<Row> columns; // for the plot
        std::uint64_t queued = 0, peak = 0;
        smtp::Duration peak_at{};
        std::uint64_t accepted = 0, delivered = 0, reports = 0, notices = 0, tries_failed = 0;
        std::string state = "ready", last_error;
        bool told_of_peak = false;
    };
    static constexpr std::size_t columns = 72;

    void accepted(const std::string& link, smtp::Duration at);
    void delivered(const std::string& link, smtp::Duration at, smtp::Duration delay);
    void reported(const std::string& link, smtp::Duration at); // failed for good: the sender is told
    void noticed(const std::string& link, smtp::Duration at);  // a notice of delay
    void try_failed(const std::string& link, smtp::Duration at);
    // What is queued goes over to another link.
    void moved(const std::string& from, const std::string& to, smtp::Duration at, std::uint64_t messages);
    void state(const std::string& link, smtp::Duration at, std::string_view state, std::string what);
    void say(smtp::Duration at, std::string link, std::string what);
    // Nothing happens any more: what stands now stands until the end.
    void end();

    smtp::Duration duration() const { return duration_; }
    smtp::Duration interval() const { return interval_; }
    const std::map<std::string, Link>& links() const { return links_; }
    // In the order of time.
    const std::vector<Happening>& happenings() const { return happenings_; }

private:
    Link& link(const std::string& name);
    void advance(smtp::Duration at); // closes intervals that have ended
    template <class Change> void change(Link& link, smtp::Duration at, Change change);

    smtp::Duration duration_, interval_, column_;
    std::size_t row_ = 0, at_column_ = 0;
    std::map<std::string, Link> links_;
    std::vector<Happening> happenings_;
};

} // namespace postrider::simulate
