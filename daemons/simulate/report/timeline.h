// What came to pass in a simulated world: for each link what it took, delivered, gave up, how long mail
// waited and how much of it, interval by interval; and what is worth a line. Values only; knows no engine.
#pragma once
#include "libsmtp/text/time_types.h"
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace postrider::simulate {

// A backlog is worth a line from here on.
constexpr std::uint64_t noteworthy = 20;

// One link in one interval.
struct Row {
    std::uint64_t accepted = 0, delivered = 0, returned = 0, notices = 0, attempts = 0, failures = 0;
    std::uint64_t backlog = 0, most = 0; // queued at its end; at its fullest
    std::vector<float> delays;           // seconds, of what was delivered
    std::string state;                   // at its end: "ready", "glitch", "retry", "down"
    double delay(double quantile) const; // 0: nothing was delivered
};

// One link in one column of the drawings.
struct Column {
    std::uint64_t most = 0, returned = 0;
    double longest = 0; // delay
    std::string state;  // the worst in it
};

enum class Event : std::uint8_t {
    trouble, // of the scenario, begins
    mended,  // and ends
    glitch,  // of a link
    retry,
    ready,
    down, // its mail goes another way
    up,
    reset,    // routes were asked for anew
    rerouted, // mail goes over to another link
    no_route, // a domain leads nowhere, for now or for good
    queue,    // of one domain: its health
    first_notice,
    first_return,
    last_return,
    peak, // the backlog's
    drained,
    last_ = drained
};
std::string_view word_of(Event what); // "first_return"

struct Happening {
    smtp::Duration at{};
    Event what = Event::trouble;
    std::string link = {}; // "" of the scenario, or of all links
    std::string text = {};
    std::uint32_t failures = 0; // in a row: glitch, retry, queue
    smtp::Duration next{};      // try: the same
    bool brief = true;          // worth a line in a short account; else only another rung of the ladder
};

// What became of the mail of one [traffic].
struct Fortune {
    std::uint64_t accepted = 0, delivered = 0, returned = 0;
    std::vector<float> delays;           // seconds
    double delay(double quantile) const; // 0: nothing was delivered
};

enum class Try : std::uint8_t { succeeded, failed };
enum class Return : std::uint8_t { refused, expired, nobody_to_tell };

class Chronicle {
public:
    // columns: of the drawings.
    Chronicle(smtp::Duration duration, smtp::Duration interval, std::size_t columns);

    struct Link {
        std::vector<Row> rows;       // for the timetable
        std::vector<Column> columns; // for the drawings
        std::uint64_t queued = 0, peak = 0;
        smtp::Duration peak_at{}, drained_at{}, first_return{}, last_return{}; // drained_at 0: never
        std::uint64_t accepted = 0, delivered = 0, notices = 0, attempts = 0, failures = 0;
        std::uint64_t refused = 0, expired = 0, nobody_to_tell = 0; // returned; the last: kept in bad/
        std::uint64_t moved_in = 0, moved_out = 0;                  // by other routes
        std::string state = "ready";
        bool told_of_peak = false;
        std::uint64_t returned() const { return refused + expired + nobody_to_tell; }
        double delay(double quantile) const; // of all that was delivered
    };

    void accepted(const std::string& link, smtp::Duration at);
    void delivered(const std::string& link, smtp::Duration at, smtp::Duration delay);
    void returned(const std::string& link, smtp::Duration at, Return why); // failed for good
    void noticed(const std::string& link, smtp::Duration at);              // a notice of delay
    void attempted(const std::string& link, smtp::Duration at, Try how);
    void report_sent() { ++reports_; }                                      // as mail of its own
    Fortune& of_traffic(const std::string& name) { return traffic_[name]; } // stays where it is
    // What is queued for a domain goes over to another link.
    void moved(const std::string& from, const std::string& to, const std::string& domain, smtp::Duration at,
               std::uint64_t messages);
    // Of a link ("" : as it was), of one of its queues.
    void state(Happening happening, std::string_view state);
    void queue_state(Happening happening, const std::string& queue, std::string_view state);
    void say(Happening happening);
    // Nothing happens any more: what stands now stands until the end.
    void end();

    smtp::Duration duration() const { return duration_; }
    smtp::Duration interval() const { return interval_; }
    const std::map<std::string, Link, std::less<>>& links() const { return links_; }
    const std::map<std::string, Fortune>& traffic() const { return traffic_; }
    std::uint64_t reports() const { return reports_; }
    // In the order of time.
    const std::vector<Happening>& happenings() const { return happenings_; }

private:
    Link& link(const std::string& name);
    void advance(smtp::Duration at); // closes intervals that have ended
    template <class Change> void change(Link& link, smtp::Duration at, Change change);
    Row* row(Link& link);
    Column* column(Link& link);
    void drained(const std::string& name, Link& link, smtp::Duration at);

    smtp::Duration duration_, interval_, column_;
    std::size_t columns_, row_ = 0, at_column_ = 0;
    std::map<std::string, Link, std::less<>> links_;
    std::map<std::string, std::string, std::less<>> queues_; // those that are not ready
    std::map<std::string, Fortune> traffic_;
    std::vector<Happening> happenings_;
    std::uint64_t reports_ = 0;
};

} // namespace postrider::simulate
