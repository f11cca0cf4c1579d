// A world for the queue engine to live in, made from a seed: hosts that work, refuse, tarpit, greylist,
// vanish, push back and drop; agents that die; a categorizer, a router and a bounce daemon with moods; an
// operator who pauses; a clock that jumps; restarts at any instant. It does what the engine says, keeps what
// a spool would keep, and after every step compares the engine with its own books. The first thing that is
// wrong ends the run.
#pragma once
#include "daemons/decide/queue/engine.h"
#include "daemons/decide/queue/ladder.h"
#include "tests/sim/books.h"
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace sim {

namespace q = decide::queue;

// Times are microseconds.
constexpr std::int64_t second = 1'000'000, minute = 60 * second, hour = 60 * minute;

class Dice {
public:
    explicit Dice(std::uint64_t seed) : random_(seed) {}
    std::uint64_t below(std::uint64_t n) { return random_.number() % n; }
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low + 1)));
    }
    bool chance(unsigned percent) { return below(100) < percent; }
    std::uint64_t number() { return random_.number(); }

private:
    q::Random random_;
};

enum class Mood : std::uint8_t { well, slow, refuses, vanished, pushes_back, greylists, defers_all, drops, hangs_up };
constexpr unsigned moods = 9;

// The hosts behind one link.
struct Host {
    std::string name;
    bool mx = false;
    Mood mood = Mood::well;
    std::uint32_t takes = 4;        // connections, when it pushes back
    std::uint32_t open = 0;         // up now
    std::int64_t last_failure = -1; // µs: as the engine announced it
    // As the engine announced it: no try before, and only one until it is ready again.
    q::Health health = q::Health::ready;
    std::int64_t not_before = 0;
    std::uint32_t opened_since = 0;
    std::int64_t stuck_since = -1;
    std::int64_t waited_until = 0; // it was paused
    bool down = false;             // as the engine announced it
    std::int64_t retry_since = -1, last_open = -1, next_moment = -1'000'000;
    bool announced = false; // since the engine's start
    std::int64_t forced = -1'000'000'000;
    std::int64_t next_connection = -1'000'000;
    std::string rule;        // of the routes to it, where a domain has none of its own
    std::string failed_rule; // of the queue that it failed for last
    std::string address;     // that other hosts have too; "": its own
    std::string pool;        // of source addresses, that this link to it comes from
    bool store = false;      // of mailboxes, by LMTP: each recipient has a reply of its own after the dot
    std::size_t machine = 0; // the link without a pool to the same hosts: whose mood is theirs
};

// One queue of the engine's, by its name: what the engine announced of it.
struct QueueBook {
    std::int64_t not_before = 0;    // no try before
    std::int64_t route_until = 0;   // its next hop could not be found, and is not looked up again before
    bool announced = false;         // since the engine's start: else it may remember what we do not
    std::int64_t last_failure = -1; // that kept all of it waiting
    std::int64_t waited_until = -1; // it, or its pool, was paused
    std::string rule;               // of its route, as the engine was told last …
    std::string rule_before;        // … and until rule_since
    std::int64_t rule_since = -1;
    bool routed = false;
    int lookups_failed = 0; // in a row; -1: not known here
};

struct Domain {
    std::string name;
    std::size_t host = 0;
    std::optional<std::size_t> other; // the route's next one, while that is down
    bool impossible = false;          // cannot receive mail
    bool had_bad = false;             // a bad message was for it
    bool untrusted = false;           // its policy of encryption cannot be met
    std::string pool;                 // that its route gives to mail that names none
    std::string rule;                 // of its own route
    bool unanswered = false;          // its name servers do not answer
};

struct Delivery {
    std::uint64_t delivery = 0;
    spool::QueueId id;
    std::vector<q::RecipientNumber> numbers;
};

struct Connection {
    q::AgentId agent = 0;
    std::size_t host = 0;
    bool local = false, up = false, closing = false, busy = false;
    bool admitted = false; // to its host's address
    bool racing = false;   // with another address of its host
    std::string rule;      // of the queue it was opened for
    std::uint32_t handed = 0;
    std::int64_t moved = 0;        // when it last had nothing to do, or was through with a message
    std::uint64_t incarnation = 0; // of the engine it belongs to
    std::deque<Delivery> deliveries;
};

// How long a world lives: some hours, with mail to few places; or a month in which places come and go.
enum class Life : std::uint8_t { hours, month };

class World {
public:
    World(std::uint64_t seed, std::ostream* log, Life life = Life::hours);

    // Lives until all is quiet; the first broken invariant, or "".
    std::string run();
    std::uint64_t steps() const { return steps_; }

private:
    using Event = std::function<void()>;
    struct Planned {
        std::int64_t at;
        std::uint64_t number;
        Event what;
        bool operator>(const Planned& other) const { return std::tie(at, number) > std::tie(other.at, other.number); }
    };

    smtp::Now now() const;
    void wrong(const std::string& what);
    void say(const std::string& what);
    void later(std::int64_t in, Event what);
    void make_settings();
    void make_places();
    void make_pools();
    void plan_traffic();
    void plan_trouble();
    void plan_trouble_of_processes(std::int64_t until);
    void plan_month();
    const Domain& some_domain();
    void heal();

    // world.cpp: doing what the engine says
    void carry_out();
    void does(const q::AskCategorizer& a);
    void does(const q::AskRoute& a);
    void does(const q::AskSuppressions& a);
    void does(const q::AskTokens& a);
    void does(const q::OpenConnection& a);
    void does(const q::Deliver& a);
    void does(const q::CloseConnection& a);
    void does(const q::Recall& a);
    void does(const q::CancelDelivery& a);
    void give_back(std::uint64_t connection, std::size_t from, std::size_t count);
    void does(const q::RecordDeferral& a);
    void does(const q::RecordOutcome& a);
    void does(const q::RecordSuspect& a);
    void does(const q::RecordHeld& a);
    void does(const q::RecordDelayNotice& a);
    void does(const q::RecordReported& a);
    void does(const q::MakeReport& a);
    void does(const q::MoveToMessages& a);
    void does(const q::Remove& a);
    void does(const q::NoticeActive&) {}
    void does(const q::NoticeDiscarded&) {}
    void does(const q::NoticeSuspended&) {}
    void does(const q::NoticeUndelivered&) {}
    void does(const q::NoticeExpired& a);
    void does(const q::NoticeLink& a);
    void does(const q::NoticeQueue& a);
    void does(const q::LinkForgotten& a);
    void does(const q::DomainForgotten& a);
    void does(const q::LinkState& a);
    void does(const q::NoticeReset&) {}
    void does(const q::RecordPolicy& a);

    // hosts.cpp: what the other side does
    void arrive();
    void approach(std::uint64_t connection);
    void came_up(std::uint64_t connection);
    void connect_failed(std::uint64_t connection, bool push_back, bool was_up);
    void work(std::uint64_t connection);
    void answer(std::uint64_t connection);
    void race(std::uint64_t connection);
    void end_connection(std::uint64_t connection, bool failed, bool was_up, bool push_back, bool crowded = false);
    q::Result verdict(const Connection& c, Recipient& r, const Message& m, const q::Reason* reason);
    std::int64_t pace(const Host& host);
    Mood mood_of(const Connection& c) const;

    // pools.cpp
    void plan_pauses(std::int64_t span);
    void resume(q::Scope scope, const std::string& name);
    void resume_all();
    Domain& domain_of(std::string_view name);
    std::size_t host_at(std::size_t machine, std::string_view pool) const;
    const std::string& pool_of(const Message& m, const Domain& domain) const;
    std::string name_of_route_pool(const std::string& queue) const;
    std::string queue_of(const Message& m, const Recipient& r) const;
    void check_pauses(const Message& m, const Recipient& r, const Connection& c);

    // rules.cpp
    void make_rules();
    void plan_reloads(std::int64_t span);
    std::vector<const q::RouteSettings*> rules_in_use(const Host& host) const;
    const q::RouteSettings& settings_of(std::string_view rule) const;
    std::uint32_t connections_by(std::string_view rule) const;
    q::Ladder ladder(std::string_view rule) const { return q::ladder_of(settings_, settings_of(rule)); }
    std::uint32_t strictest_limit(const Host& host) const;
    void check_rung(smtp::Duration wait, smtp::Duration rung, const std::string& what);
    bool shares(const q::RouteSettings& its) const { return settings_.in_fleet && its.share_rates; }
    void check_rate(Host& host);
    void check_connection_rate(Host& host);
    void check_limit(const Host& host, std::size_t index);

    // fleet.cpp
    void make_fleet();
    void introduce_fleet();
    void tell_fleet();
    void plan_fleet(std::int64_t span);

    // policies.cpp
    void make_policies();
    void name_policy(Message& m);
    const q::RetryPolicy& policy_of(const Message& m) const;
    bool out_of_tries(const Message& m, const Recipient& r) const;
    void check_delayed(const q::RecordDeferral& a, q::RecipientNumber number);
    void check_overdue(const Message& m);

    // operator_commands.cpp
    void plan_hand(std::int64_t span);
    void command();
    void hold(Message& m);
    void release(Message& m);
    void release_all();
    void remove_by_hand(std::uint64_t id);
    void expire_by_hand(Message& m);
    void change_life(Message& m);
    void change_lane(Message& m);
    void plan_times(std::int64_t span);
    void reschedule(Message& m);
    void requeue(Message& m);
    void force(Message& m);
    void force(q::Scope scope, const std::string& name);
    void forget_rests();
    void check_forced(const std::string& what,
                      const std::function<bool(const Message&, const q::DeliveryInfo&)>& covers);

    // stores.cpp
    void make_stores();
    void plan_full(std::int64_t span);
    void choose_mailbox(Recipient& r);
    bool is_full(const Connection& c, Recipient& r);
    void check_recorded(spool::QueueId id, const std::vector<q::Result>& results);
    void check_user(const Message& m, const Recipient& r);
    std::uint32_t failures_of(const std::string& queue, const Connection& c) const;

    // lookups.cpp
    void plan_lookups(std::int64_t span);
    void check_lookup(const std::string& queue);
    void looked_up(const std::string& queue, const q::Routed& r);

    // failures.cpp
    void start_engine(const std::vector<q::HealthSnapshot>& remembered = {});
    const Host& host_of(const Domain& domain, std::string_view pool) const; // as the router says now
    void restart(bool power_cut);
    void agent_dies(bool crash);
    q::AgentKind lose(q::AgentId agent, bool crash);
    void attach_agent(q::AgentKind kind);
    void offer(Message& m);

    // suppression.cpp
    static std::uint32_t key_of(std::uint64_t id, q::RecipientNumber number);
    void plan_suppressions(std::int64_t until);
    void suppress_somebody();

    // checks.cpp
    void check();
    void check_books();
    void check_links();
    void check_growth();
    void check_rest();
    void check_stalls();
    void check_start(const q::Deliver& a, const Connection& c);
    bool is_checked(std::uint64_t id, q::RecipientNumber number) const;
    void check_probe(const q::Deliver& a, const Connection& c);
    void check_expiry(const Message& m, const Recipient& r);
    Recipient& recipient(spool::QueueId id, q::RecipientNumber number);
    Message* message(spool::QueueId id);

    Dice dice_, list_dice_, pool_dice_, rule_dice_, policy_dice_, hand_dice_, time_dice_, store_dice_, lookup_dice_,
        fleet_dice_;
    std::uint64_t seed_;
    Life life_;
    std::ostream* log_;
    std::string wrong_;
    std::int64_t time_ = 0;         // µs, monotonic
    std::int64_t wall_offset_ = 0;  // µs since 1970 at time_ 0
    std::int64_t rest_began_ = 0;   // of a link or queue that had been well, last
    std::int64_t waited_until_ = 0; // the last wait of our own doing for everybody ended
    std::int64_t end_of_trouble_ = 0;
    bool calm_ = false;  // hosts well, one bad message per domain: nothing else may wait long
    bool exact_ = false; // jitter 0
    bool healed_ = false;
    bool set_back_ = false; // the clock was: ages by the wall mean little
    std::uint64_t steps_ = 0, planned_ = 0, incarnation_ = 0, last_id_ = 0;
    int timers_in_a_row_ = 0;

    q::Settings settings_;
    q::FleetPresence fleet_;
    bool fleet_known_ = false; // to this engine
    struct TokensAsked {
        bool open = false; // not answered yet
        std::deque<std::int64_t> times;
    };
    std::map<std::pair<std::string, q::SharedRate>, TokensAsked> tokens_asked_;
    std::map<std::string, std::uint32_t, std::less<>> limits_; // of connections, by rule; the router says them
    std::string failed_rule_;                                  // of the connection that ended or told last
    std::unique_ptr<q::Engine> engine_;
    q::Actions out_;
    std::priority_queue<Planned, std::vector<Planned>, std::greater<>> plan_;

    std::vector<Host> hosts_;
    std::vector<Domain> domains_;
    std::size_t machines_ = 0; // the first of hosts_: those without a pool
    std::vector<std::string> pools_;
    std::map<std::string, QueueBook, std::less<>> queues_;
    std::map<std::uint64_t, Message> messages_; // by id: the spool, and what really happened
    std::map<std::uint64_t, Connection> connections_;
    std::map<q::AgentId, q::AgentKind> agents_;
    std::uint64_t categorizers_ = 0; // that went
    q::AgentId last_agent_ = 0;
    std::set<std::string> paused_links_, paused_queues_, paused_pools_;
    bool paused_ = false;
    bool list_unreadable_ = false; // of those suppressed
    std::uint64_t last_requeued_ = 0;
    bool users_ = false;                                   // some local recipients are users with a bound of their own
    std::set<std::pair<std::string, std::uint32_t>> full_; // mailboxes: domain (or "local") and number
    std::uint64_t repeated_at_ = 0;                        // the step in which a look-up was last repeated
    std::uint32_t open_ = 0;
    std::map<std::uint64_t, std::int64_t> alone_since_; // agent → nothing else in flight
};

} // namespace sim
