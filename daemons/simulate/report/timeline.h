// The course of a simulation: for each link, interval by interval, what it accepted, delivered and returned, how much
// mail waited and for how long; and the events. Values only; knows no engine.
#pragma once
#include "libsmtp/text/time_types.h"
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace postrider::simulate {

// A smaller backlog is not reported.
constexpr std::uint64_t min_reported_backlog = 20;

// One link in one interval.
struct IntervalStats {
    std::uint64_t accepted = 0, delivered = 0, returned = 0, notices = 0, attempts = 0, failures = 0;
    std::uint64_t backlog = 0, max_backlog = 0; // queued at its end; at most
    std::vector<float> delays;                  // seconds, of what was delivered
    std::string state;                          // at its end: "ready", "glitch", "retry", "down"
    double delay(double quantile) const;        // 0: nothing was delivered
};

// One link in one column of the charts.
struct ChartColumn {
    std::uint64_t max_backlog = 0, returned = 0;
    double max_delay = 0; // seconds
    std::string state;    // the worst during it
};

enum class EventKind : std::uint8_t {
    fault_begins, // of the scenario
    fault_ends,
    glitch, // of a link
    retry,
    ready,
    down, // its mail takes another route
    up,
    reset,    // routes were looked up again
    rerouted, // mail moves to another link
    no_route, // a domain has no route, temporarily or permanently
    queue,    // of one domain: its health
    first_notice,
    first_return,
    last_return,
    peak, // the backlog's
    drained,
    last_ = drained
};
std::string_view name_of(EventKind kind); // "first_return"

struct TimelineEvent {
    smtp::Duration at{};
    EventKind kind = EventKind::fault_begins;
    std::string link = {}; // "" of the scenario, or of all links
    std::string text = {};
    std::uint32_t failures = 0; // in a row: glitch, retry, queue
    smtp::Duration next{};      // try: the same
    bool in_summary = true;     // listed in the summary; otherwise only another retry
};

// The results for the mail of one [traffic].
struct TrafficStats {
    std::uint64_t accepted = 0, delivered = 0, returned = 0;
    std::vector<float> delays;           // seconds
    double delay(double quantile) const; // 0: nothing was delivered
};

enum class AttemptResult : std::uint8_t { succeeded, failed };
enum class ReturnReason : std::uint8_t { rejected, expired, no_sender };

class Timeline {
public:
    // columns: of the charts.
    Timeline(smtp::Duration duration, smtp::Duration interval, std::size_t columns);

    struct Link {
        std::vector<IntervalStats> rows;  // for the timetable
        std::vector<ChartColumn> columns; // for the charts
        std::uint64_t queued = 0, peak = 0;
        smtp::Duration peak_at{}, drained_at{}, first_return{}, last_return{}; // drained_at 0: never
        std::uint64_t accepted = 0, delivered = 0, notices = 0, attempts = 0, failures = 0;
        std::uint64_t rejected = 0, expired = 0, no_sender = 0; // returned; the last: moved to bad/
        std::uint64_t moved_in = 0, moved_out = 0;              // by other routes
        std::string state = "ready";
        bool peak_reported = false;
        std::uint64_t returned() const { return rejected + expired + no_sender; }
        double delay(double quantile) const; // of all that was delivered
    };

    void accepted(const std::string& link, smtp::Duration at);
    void delivered(const std::string& link, smtp::Duration at, smtp::Duration delay);
    void returned(const std::string& link, smtp::Duration at, ReturnReason why); // failed permanently
    void noticed(const std::string& link, smtp::Duration at);                    // a notice of delay
    void attempted(const std::string& link, smtp::Duration at, AttemptResult how);
    void report_sent() { ++reports_; }                                              // as mail of its own
    TrafficStats& traffic_stats(const std::string& name) { return traffic_[name]; } // stays where it is
    // What is queued for a domain moves to another link.
    void moved(const std::string& from, const std::string& to, const std::string& domain, smtp::Duration at,
               std::uint64_t messages);
    // Of a link ("" : as it was), of one of its queues.
    void state(TimelineEvent event, std::string_view state);
    void queue_state(TimelineEvent event, const std::string& queue, std::string_view state);
    void add(TimelineEvent event);
    // No more events: the present state lasts until the end.
    void end();

    smtp::Duration duration() const { return duration_; }
    smtp::Duration interval() const { return interval_; }
    const std::map<std::string, Link, std::less<>>& links() const { return links_; }
    const std::map<std::string, TrafficStats>& traffic() const { return traffic_; }
    std::uint64_t reports() const { return reports_; }
    // In the order of time.
    const std::vector<TimelineEvent>& events() const { return events_; }

private:
    Link& link(const std::string& name);
    void advance(smtp::Duration at); // closes intervals that have ended
    template <class Change> void change(Link& link, smtp::Duration at, Change change);
    IntervalStats* row(Link& link);
    ChartColumn* column(Link& link);
    void drained(const std::string& name, Link& link, smtp::Duration at);

    smtp::Duration duration_, interval_, column_;
    std::size_t columns_, row_ = 0, at_column_ = 0;
    std::map<std::string, Link, std::less<>> links_;
    std::map<std::string, std::string, std::less<>> queues_; // those that are not ready
    std::map<std::string, TrafficStats> traffic_;
    std::vector<TimelineEvent> events_;
    std::uint64_t reports_ = 0;
};

} // namespace postrider::simulate
