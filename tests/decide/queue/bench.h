// A hand-moved clock and obedient services around an engine: what the categorizer, the router and the agents
// would say, said at once unless a test wants otherwise. Actions of interest are kept for the test to look
// at.
#pragma once
#include "daemons/decide/hosts/mx.h"
#include "daemons/decide/queue/engine.h"
#include <algorithm>
#include <deque>
#include <doctest/doctest.h>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace decide::queue::test {

using namespace std::chrono_literals;
using decide::FailureKind;

struct Handed {
    AgentId agent = 0;
    ConnectionId connection = 0;
    DeliveryId delivery = 0;
    spool::QueueId id;
    std::vector<RecipientNumber> numbers;
    double at = 0; // seconds since the start
};

struct Checked {
    DeliveryId delivery = 0;
    spool::QueueId id;
    std::vector<RecipientNumber> numbers;
};

class Bench {
public:
    explicit Bench(Settings settings = exact(), std::uint64_t seed = 1) : engine(settings, seed, now()) {
        engine.agent_attached(1, AgentKind::smtp, 1000, now(), out);
        engine.agent_attached(2, AgentKind::local, 100, now(), out);
        run();
    }

    static Settings exact() {
        Settings s;
        s.jitter = 0;
        return s;
    }

    smtp::Now now() const {
        return {smtp::Monotonic(1h + time), smtp::WallTime(smtp::Duration(1'790'000'000'000'000)) + time + wall_extra};
    }
    double seconds() const { return static_cast<double>(time.count()) / 1e6; }

    // A message for these domains ("local": the local store; "local/ann": commands of ann; "discard": nobody), one
    // recipient each.
    spool::QueueId send(std::vector<std::string> domains, Accepted how = {}) {
        const spool::QueueId id{last_id += 4096};
        recipients[id.value] = std::move(domains);
        how.id = id;
        how.arrival = now().wall;
        if (how.open.empty() && how.unreported.empty())
            how.recipients = static_cast<std::uint32_t>(recipients[id.value].size());
        engine.accepted(how, now(), out);
        run();
        return id;
    }

    // Carries out what the engine says until it has nothing more to say at this instant.
    void run() {
        while (!out.list.empty()) {
            Actions said;
            std::swap(said, out);
            for (const Action& a : said.list) std::visit([&](const auto& each) { act(each, said); }, a);
            for (const ConnectionId each : std::exchange(no_room_, {})) {
                std::erase_if(handed, [&](const Handed& h) { return h.connection == each; });
                std::erase(opened, each);
                engine.closed({.connection = each, .at_address_limit = true}, now(), out);
            }
        }
    }

    // Lets time pass, timers included.
    void pass(smtp::Duration by) {
        const smtp::Duration until = time + by;
        while (true) {
            const auto next = engine.next_timer();
            if (!next || *next > smtp::Monotonic(1h + until)) break;
            time = std::max(time, *next - smtp::Monotonic(1h));
            engine.timer(now(), out);
            ++timers;
            run();
        }
        time = until;
    }

    // ---- what agents say ----
    void up(ConnectionId connection) {
        engine.connected(connection, now(), out);
        run();
    }
    void answer(Handed h, Outcome outcome, FailureKind kind = FailureKind::recipient, bool dropped = false) {
        std::vector<Result> results;
        for (auto n : h.numbers) results.push_back({n, outcome, kind, PushBack::no, SuccessReport::none, &reason});
        answer(h, results, dropped);
    }
    void answer(Handed h, std::vector<Result> results, bool dropped = false) {
        std::erase_if(handed, [&](const Handed& each) { return each.delivery == h.delivery; });
        engine.done({h.connection, h.delivery, h.id, results, dropped}, now(), out);
        run();
    }
    void refuse(ConnectionId connection, PushBack push_back = PushBack::no) {
        std::erase_if(handed, [&](const Handed& each) { return each.connection == connection; });
        std::erase(opened, connection);
        engine.closed({connection, true, false, Phase::connecting, push_back, &reason}, now(), out);
        run();
    }
    Handed take() {
        REQUIRE(!handed.empty());
        return handed.front();
    }
    LinkInfo link(std::string_view name) {
        for (auto& each : engine.links(now()))
            if (each.name == name) return each;
        return {};
    }
    QueueInfo queue(std::string_view name) {
        for (auto& each : engine.queues(now()))
            if (each.name == name) return each;
        return {};
    }

    smtp::Duration time{};
    smtp::Duration wall_extra{};
    Actions out;
    Engine engine;

    // The world's answers.
    std::map<std::string, std::string> link_of;    // domain → link; else its own name
    std::map<std::string, RouteKind> route_kind;   // else configured
    std::string rule;                              // of every route …
    std::map<std::string, std::string> rule_of;    // … but of these domains'
    std::map<std::string, std::string> auth_of;    // domain → how we authenticate for its mail
    std::map<std::string, std::uint32_t> limit_of; // domain → connections by its route
    std::map<std::string, std::string> address_of; // link → the address that is asked for; else none is
    std::function<void(const std::string& link, bool down)> on_link_state;
    bool connects = true; // connections come up at once
    bool sorts = true;    // the categorizer answers at once
    bool routes = true;   // … and so does the router
    bool reports_work = true, reports_answered = true;
    bool stops = true;                    // what is cut is given back
    std::vector<std::uint32_t> keys;      // of the recipients' addresses, by number
    bool needs_suppression_check = false; // … which the suppression list is to be asked about
    Reason reason{"4.0.0", "because", "", ""};

    // What was said.
    std::vector<Handed> handed;
    std::vector<Checked> checks; // of the suppression list, left to the test to answer
    struct AskedTokens {
        std::uint64_t number = 0;
        std::string link;
        SharedRate rate = SharedRate::messages;
        smtp::Duration gap{};
        std::uint32_t count = 0;
    };
    std::vector<AskedTokens> tokens; // left to the test to answer
    std::vector<ConnectionId> opened;
    std::vector<double> tries; // times of OpenConnection
    std::vector<spool::QueueId> removed, active, moved, expired, asked, held;
    std::vector<std::pair<spool::QueueId, RecipientNumber>> discarded;
    struct Suspended {
        spool::QueueId id;
        RecipientNumber number;
        std::string why;
    };
    std::vector<Suspended> suspended;
    std::vector<std::string> lookups;
    std::vector<MakeReport> reports;
    std::vector<RecordDeferral> deferrals;
    std::vector<RecordOutcome> outcomes;
    std::vector<std::pair<std::string, std::uint32_t>> link_events;
    std::vector<std::pair<Health, bool>> link_notices;     // changed?
    std::vector<std::pair<std::string, bool>> link_states; // down?
    std::vector<NoticeReset> resets;
    std::vector<std::string> policies; // recorded
    std::uint64_t last_id = 0x1000;
    std::uint64_t timers = 0, recalls = 0;
    std::vector<DeliveryId> cuts;
    std::map<std::uint64_t, std::vector<std::string>> recipients;

private:
    std::vector<ConnectionId> no_room_;
    template <class A> void act(const A&, const Actions&) {}
    void act(const AskCategorizer& a, const Actions& said) {
        asked.push_back(a.id);
        if (!sorts) return;
        std::vector<RecipientNumber> numbers(said.of(a.numbers).begin(), said.of(a.numbers).end());
        const auto& all = recipients[a.id.value];
        if (numbers.empty())
            for (RecipientNumber n = 0; n < all.size(); ++n) numbers.push_back(n);
        std::vector<FinalRecipient> finals;
        for (auto n : numbers)
            finals.push_back({n,
                              all[n].starts_with("local") ? Fate::local
                              : all[n] == "discard"       ? Fate::discard
                                                          : Fate::remote,
                              all[n], 0, nullptr, n < keys.size() ? keys[n] : n + 1, needs_suppression_check});
        engine.categorized({a.id, finals}, now(), out);
    }
    void act(const AskSuppressions& a, const Actions& said) {
        checks.push_back({a.delivery, a.id, {said.of(a.numbers).begin(), said.of(a.numbers).end()}});
    }
    void act(const AskTokens& a, const Actions&) {
        tokens.push_back({a.number, std::string(a.link), a.rate, a.gap, a.count});
    }
    void act(const AskRoute& a, const Actions&) {
        const std::string domain(a.domain);
        lookups.push_back(domain);
        if (!routes) return;
        Routed r;
        r.domain = domain;
        r.kind = route_kind.contains(domain) ? route_kind[domain] : RouteKind::configured;
        const auto named = link_of.contains(domain) ? link_of[domain] : domain;
        const auto link = a.pool.empty() ? named : link_from(link_to(named), a.pool);
        r.pool = a.pool;
        r.link = link;
        r.rule = rule_of.contains(domain) ? rule_of[domain] : rule;
        if (auth_of.contains(domain)) r.auth = auth_of[domain];
        if (limit_of.contains(domain)) r.connections = limit_of[domain];
        r.valid = 1000h;
        r.reason = &reason;
        engine.routed(r, now(), out);
    }
    void act(const OpenConnection& a, const Actions&) {
        opened.push_back(a.connection);
        tries.push_back(seconds());
        if (const auto at = address_of.find(std::string(a.link));
            at != address_of.end() &&
            !engine.may_connect(a.connection, at->second, AddressRequest::replace, now(), out)) {
            no_room_.push_back(a.connection);
            return;
        }
        if (connects) engine.connected(a.connection, now(), out);
    }
    void act(const Deliver& a, const Actions& said) {
        handed.push_back({a.agent,
                          a.connection,
                          a.delivery,
                          a.id,
                          {said.of(a.numbers).begin(), said.of(a.numbers).end()},
                          seconds()});
    }
    void act(const CloseConnection& a, const Actions&) {
        std::erase(opened, a.connection);
        engine.closed({a.connection, false, true, Phase::session, PushBack::no, nullptr}, now(), out);
    }
    // All but the first two are not begun: the second one's commands follow the first one's content.
    void act(const Recall& a, const Actions&) {
        ++recalls;
        std::vector<DeliveryId> unbegun;
        for (const Handed& each : handed)
            if (each.connection == a.connection) unbegun.push_back(each.delivery);
        unbegun.erase(unbegun.begin(),
                      unbegun.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(2, unbegun.size())));
        std::erase_if(handed, [&](const Handed& each) { return std::ranges::count(unbegun, each.delivery) > 0; });
        engine.returned({a.connection, unbegun}, now(), out);
    }
    void act(const CancelDelivery& a, const Actions&) {
        cuts.push_back(a.delivery);
        if (!stops) return;
        std::erase_if(handed, [&](const Handed& each) { return each.delivery == a.delivery; });
        const DeliveryId one[] = {a.delivery};
        engine.returned({a.connection, one}, now(), out);
    }
    void act(const MakeReport& a, const Actions&) {
        reports.push_back(a);
        if (!reports_answered) return;
        Reported r;
        r.request = a.request;
        r.outcome = reports_work ? ReportOutcome::done : ReportOutcome::try_later;
        if (!reports_work) r.why = "no room";
        engine.reported(r, now(), out);
    }
    void act(const RecordDeferral& a, const Actions&) { deferrals.push_back(a); }
    void act(const RecordOutcome& a, const Actions&) { outcomes.push_back(a); }
    void act(const RecordHeld& a, const Actions&) { held.push_back(a.id); }
    void act(const NoticeActive& a, const Actions&) { active.push_back(a.id); }
    void act(const NoticeDiscarded& a, const Actions& said) {
        for (const auto number : said.of(a.numbers)) discarded.emplace_back(a.id, number);
    }
    void act(const NoticeSuspended& a, const Actions& said) {
        for (const auto number : said.of(a.numbers)) suspended.push_back({a.id, number, said.reasons[a.reason].text});
    }
    void act(const NoticeExpired& a, const Actions&) { expired.push_back(a.id); }
    void act(const MoveToMessages& a, const Actions&) { moved.push_back(a.id); }
    void act(const Remove& a, const Actions&) { removed.push_back(a.id); }
    void act(const LinkState& a, const Actions&) {
        link_states.emplace_back(a.link, a.down);
        if (on_link_state) on_link_state(std::string(a.link), a.down);
    }
    void act(const NoticeReset& a, const Actions&) { resets.push_back(a); }
    void act(const RecordPolicy& a, const Actions&) { policies.push_back(a.policy->name); }
    void act(const NoticeLink& a, const Actions&) {
        link_events.emplace_back(a.link, a.event);
        link_notices.emplace_back(a.health, a.changed);
    }
};

} // namespace decide::queue::test
