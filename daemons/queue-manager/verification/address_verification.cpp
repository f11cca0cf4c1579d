#include "daemons/queue-manager/verification/address_verification.h"
#include "daemons/common/runtime/destroy_later.h"
#include "libsmtp/message/address.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <utility>

namespace queue_manager {

using namespace std::chrono_literals;
using common::Loop;
using decide::verification::Deliverability;
using decide::verification::ProbeAdmission;
using proto::verification::Verified;
using proto::verification::Verify;

namespace {

constexpr std::uint64_t bytes_of_entry = 1024; // on disk at most, usually

// The answer to clients when nothing was found out; the reason is in the log.
const decide::verification::Result not_known{Deliverability::unknown, "Address verification in progress", {}};

decide::verification::Result shortened(Deliverability what, std::string_view text, std::string host = {}) {
    return {what, smtp::printable(text, decide::verification::longest_text), std::move(host)};
}

} // namespace

AddressVerification::AddressVerification(Dependencies dependencies, const config::Verify& config)
    : deps_(std::move(dependencies)), config_(config), memory_(config::memory_settings(config)),
      admission_(config::probe_limits(config)), store_([this] {
          auto deps = deps_.store;
          deps.read = [this](const std::string& key, decide::verification::Entry entry) {
              memory_.restore(key, std::move(entry), Loop::now().wall);
          };
          return deps;
      }()),
      next_(deps_.loop, [this] { begin_waiting(); }), rate_(deps_.loop, [this] { begin_waiting(); }),
      late_(deps_.loop, [this] { end_late(); }) {}

AddressVerification::~AddressVerification() = default;

void AddressVerification::begin() { store_.begin((64ULL << 20) + bytes_of_entry * config_.max_entries); }

void AddressVerification::configure(const config::Verify& config) {
    config_ = config;
    memory_.configure(config::memory_settings(config));
    admission_.configure(config::probe_limits(config));
    store_changes();
    next_.schedule();
}

// ---- smtpd ----

void AddressVerification::attach(std::unique_ptr<Channel> channel) {
    const auto number = ++last_client_;
    channel->set_callbacks({
        [this, number](proto::verification::Message&& message) {
            if (const auto* question = std::get_if<Verify>(&message)) return handle(number, *question);
            clients_.at(number).channel->fail("unexpected message: only Verify is accepted here");
        },
        [this, number](const std::string&) {
            common::destroy_later(deps_.loop, std::move(clients_.at(number).channel));
            clients_.erase(number);
        },
    });
    clients_.emplace(number, Client{std::move(channel)});
}

void AddressVerification::handle(std::uint64_t number, const Verify& question) {
    auto& client = clients_.at(number);
    if (!smtp::Mailbox::parse_bare_allowed(question.address)) return answer(number, question.request, not_known);
    const auto key = decide::verification::key_of(question.address);
    if (const auto result = known(key, question.address)) return answer(number, question.request, *result);
    if (client.open >= proto::verification::most_open) return answer(number, question.request, not_known);
    ++client.open;
    const auto done = [this, number, request = question.request](const Result& result) {
        if (const auto at = clients_.find(number); at != clients_.end()) --at->second.open;
        answer(number, request, result);
    };
    wait(key, question.address, {done, Loop::now().monotonic + config_.wait + config_.wait / 4});
}

void AddressVerification::answer(std::uint64_t number, std::uint64_t request, const Result& result) {
    count(common::MetricId::verification_answers, result.what);
    const auto at = clients_.find(number);
    if (at == clients_.end()) return;
    static_cast<void>(at->second.channel->send(Verified{request, result.what, result.text}));
}

// ---- questions ----

void AddressVerification::ask(const std::string& address, Done done) {
    const auto key = decide::verification::key_of(address);
    if (const auto result = known(key, address)) return done(*result);
    wait(key, address, {std::move(done), {}});
}

// What can be said without waiting; an entry may be due to be checked again.
std::optional<AddressVerification::Result> AddressVerification::known(const std::string& key,
                                                                      const std::string& address) {
    if (key.empty()) return not_known;
    begin(); // the configuration need not have rules that ask
    const auto remembered = memory_.find(key, Loop::now().wall);
    if (!remembered.entry) {
        store_changes();
        return {};
    }
    auto result = remembered.entry->result;
    if (remembered.check && !checks_.contains(key)) begin_check(key, address);
    return result;
}

void AddressVerification::wait(const std::string& key, const std::string& address, Waiting waiting) {
    if (waiting_count_ >= most_waiting) return waiting.done(not_known);
    ++waiting_count_;
    waiting_[key].push_back(std::move(waiting));
    if (!checks_.contains(key)) begin_check(key, address);
}

std::optional<AddressVerification::Remembered> AddressVerification::remembered(const std::string& address) {
    const auto known = memory_.find(decide::verification::key_of(address), Loop::now().wall);
    std::optional<Remembered> out;
    if (known.entry) out = Remembered{*known.entry, memory_.expiry_of(*known.entry)};
    store_changes();
    return out;
}

bool AddressVerification::forget(const std::string& address) {
    const bool known = memory_.forget(decide::verification::key_of(address));
    store_changes();
    return known;
}

// ---- a check ----

// Where its mail goes is found out for any address; only one whose route is wanted needs to be admitted.
void AddressVerification::begin_check(const std::string& key, const std::string& address) {
    if (checks_.size() - admission_.size() >= most_categorized) {
        deps_.log.info("verify: to=<{}>, not checked now: too many other addresses are being looked up",
                       smtp::printable(address, 320));
        return conclude(key, not_known);
    }
    const auto number = ++last_check_;
    checks_.insert_or_assign(
        key, Check{.number = number, .address = address, .sender = config_.sender, .began = Loop::now().monotonic});
    watch_time();
    const auto current = [this, key, number] {
        const auto at = checks_.find(key);
        return at != checks_.end() && at->second.number == number;
    };
    deps_.query_route(
        address, config_.sender,
        [this, key, current](const RouteQuery::Findings& findings) {
            if (current()) routed(key, findings);
        },
        [this, key, current](const RouteQuery::Findings& findings) {
            return current() && findings.routes.size() == 1 && admission_.begin_check(key);
        });
}

void AddressVerification::routed(const std::string& key, const RouteQuery::Findings& findings) {
    using spool::Fate;
    if (!findings.error.empty() || findings.routes.empty()) return not_made(key, findings.error);
    if (findings.routes.size() > 1)
        return finish(
            key, {Deliverability::deliverable, fmt::format("aliased to {} recipients", findings.routes.size()), {}},
            Keep::nothing);
    const auto& found = findings.routes.front();
    switch (found.outcome.fate) {
    case Fate::remote: return routed_elsewhere(key, found);
    case Fate::local:
    case Fate::discard: return finish(key, {Deliverability::deliverable, "is delivered here", {}}, Keep::nothing);
    case Fate::failed:
        // As a sender it may be good: the list says what we send, not what we receive.
        if (found.outcome.suppressed)
            return finish(key, {Deliverability::deliverable, "is not asked about: nothing is sent to it", {}},
                          Keep::former);
        return finish(key, shortened(Deliverability::undeliverable, found.outcome.text), Keep::nothing);
    case Fate::unknown: return finish(key, shortened(Deliverability::unreachable, found.outcome.text), Keep::former);
    }
}

void AddressVerification::routed_elsewhere(const std::string& key, const RouteQuery::RecipientRoute& found) {
    using decide::RouteKind;
    if (!found.route) return not_made(key, "too many other addresses are being checked");
    const auto& route = *found.route;
    if (route.kind == RouteKind::permanent)
        return finish(key, shortened(Deliverability::undeliverable, route.text), Keep::result);
    if (route.kind == RouteKind::temporary)
        return finish(key, shortened(Deliverability::unreachable, route.text), Keep::result);
    if (const auto obstacle = deps_.obstacle(route); !obstacle.empty()) return not_made(key, obstacle);
    auto& check = checks_.at(key);
    check.recipient = found.outcome.address;
    check.route = route;
    switch (admission_.admit(key, route.link, Loop::now().monotonic)) {
    case ProbeAdmission::Verdict::begin: return probe(key);
    case ProbeAdmission::Verdict::wait: return next_.schedule(); // perhaps for the rate
    case ProbeAdmission::Verdict::refuse:
        return not_made(key,
                        fmt::format("link {} did not answer lately, or too many addresses wait for it", route.link));
    }
}

void AddressVerification::probe(const std::string& key) {
    auto& check = checks_.at(key);
    const auto number = check.number;
    const auto current = [this, key, number]() -> Check* {
        const auto at = checks_.find(key);
        return at != checks_.end() && at->second.number == number ? &at->second : nullptr;
    };
    const auto begun = deps_.probes.begin_at({.address = check.recipient, .reverse_path = check.sender}, check.route,
                                             {.line =
                                                  [current](const ProbeLine& line) {
                                                      auto* check = current();
                                                      if (!check) return;
                                                      if (!line.host.empty()) check->host = line.host;
                                                      if (line.code != 0) check->said = line.text;
                                                  },
                                              .over = [] {},
                                              .refused =
                                                  [this, current, key](std::string_view error) {
                                                      if (current()) not_made(key, error);
                                                  },
                                              .result =
                                                  [this, current, key](const proto::delivery::ProbeResult& result) {
                                                      if (current()) probed(key, result);
                                                  }});
    if (auto* still = current()) still->probe = begun;
}

void AddressVerification::probed(const std::string& key, const proto::delivery::ProbeResult& result) {
    using smtp::Stage;
    auto& check = checks_.at(key);
    check.probe = 0;
    const auto& reason = result.reason;
    const auto host = result.host.empty() ? check.host : result.host;
    if (result.outcome == smtp::Outcome::delivered)
        return finish(key, shortened(Deliverability::deliverable, check.said, host), Keep::result);
    if (reason.stage == Stage::none) return not_made(key, reason.text); // no server was tried
    // Only a reply about the recipient is a verdict on the address; one without a code comes from the agent,
    // which cannot give the address to that server.
    const bool failed = result.outcome == smtp::Outcome::failed;
    const bool rejected = failed && reason.stage == Stage::rcpt;
    const bool lost = !failed && reason.code == 0;
    finish(key, shortened(rejected ? Deliverability::undeliverable : Deliverability::unreachable, reason.text, host),
           Keep::result, lost || reason.stage < Stage::mail ? LinkState::fails : LinkState::answers);
}

// A limit, or what is missing, forbids it: the address stays unknown.
void AddressVerification::not_made(const std::string& key, std::string_view why) {
    const auto at = checks_.find(key);
    if (at != checks_.end())
        deps_.log.info("verify: to=<{}>, not checked now: {}", smtp::printable(at->second.address, 320),
                       smtp::printable(why, 400));
    finish(key, not_known, Keep::result);
}

void AddressVerification::finish(const std::string& key, Result result, Keep keep, LinkState link) {
    const auto now = Loop::now();
    const auto check = checks_.extract(key);
    if (!check) return;
    const auto& about = check.mapped();
    if (about.probe != 0) deps_.probes.cancel(about.probe);
    if (keep == Keep::result && result.what != Deliverability::unknown)
        deps_.log.info("verify: to=<{}>, relay={}, delay={:.2f}, status={} ({})", smtp::printable(about.address, 320),
                       result.host.empty() ? "none" : result.host,
                       std::chrono::duration<double>(now.monotonic - about.began).count(),
                       decide::verification::name_of(result.what), result.text);
    if (keep == Keep::result) {
        count(common::MetricId::verification_checks, result.what);
        memory_.checked(key, result, now.wall);
    } else if (keep == Keep::nothing) {
        memory_.forget(key); // it was delivered elsewhere once
    }
    store_changes();
    const auto given_up = admission_.close(key, link, now.monotonic);
    conclude(key, result);
    for (const auto& other : given_up) {
        checks_.erase(other);
        memory_.checked(other, not_known, now.wall);
        conclude(other, not_known);
    }
    next_.schedule();
}

void AddressVerification::conclude(const std::string& key, const Result& result) {
    const auto waiting = waiting_.extract(key);
    if (!waiting) return;
    waiting_count_ -= waiting.mapped().size();
    for (const auto& each : waiting.mapped()) each.done(result);
}

// ---- time ----

void AddressVerification::begin_waiting() {
    for (const auto& key : admission_.next(Loop::now().monotonic)) probe(key);
    const auto wake = admission_.wake();
    if (wake) rate_.start(std::max<smtp::Duration>(*wake - Loop::now().monotonic, 10ms));
}

void AddressVerification::watch_time() {
    if (!late_.armed()) late_.start(std::clamp<smtp::Duration>(config_.wait / 4, 10ms, 1s));
}

void AddressVerification::end_late() {
    const auto now = Loop::now().monotonic;
    end_old_questions(now);
    std::vector<std::string> late;
    for (const auto& [key, check] : checks_)
        if (check.began < now - longest_check) late.push_back(key);
    for (const auto& key : late) {
        const auto at = checks_.find(key);
        if (at == checks_.end()) continue;
        if (at->second.probe == 0)
            not_made(key, "it took too long");
        else
            finish(key, shortened(Deliverability::unreachable, "the server takes too long", at->second.host),
                   Keep::result, LinkState::fails);
    }
    if (!checks_.empty()) watch_time();
}

// smtpd has given up waiting: its question no longer counts. The check continues.
void AddressVerification::end_old_questions(smtp::Monotonic now) {
    std::vector<Done> over;
    for (auto at = waiting_.begin(); at != waiting_.end();) {
        auto old = std::ranges::stable_partition(at->second,
                                                 [&](const Waiting& each) { return !each.until || *each.until > now; });
        for (auto& each : old) over.push_back(std::move(each.done));
        at->second.erase(old.begin(), old.end());
        at = at->second.empty() ? waiting_.erase(at) : std::next(at);
    }
    waiting_count_ -= over.size();
    for (const auto& done : over) done(not_known);
}

void AddressVerification::count(common::MetricId family, Deliverability what) { deps_.metrics.count(family, what); }

} // namespace queue_manager
