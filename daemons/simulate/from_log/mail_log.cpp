#include "daemons/simulate/from_log/mail_log.h"
#include "daemons/common/config/schema/key.h"
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/net/network.h"
#include "libsmtp/text/date.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace postrider::simulate::from_log {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t longest_address = 320;

std::chrono::sys_days days(int year, unsigned month, unsigned day) {
    return std::chrono::year(year) / std::chrono::month(month) / std::chrono::day(day);
}

// "250 2.0.0 Ok: queued as 4ABC": the queue id at the next hop, which may be a content filter that returns the mail
// here.
std::string_view queued_as(std::string_view text) {
    const auto at = text.rfind("queued as ");
    if (at == text.npos) return {};
    text.remove_prefix(at + 10);
    return text.substr(0, text.find_first_of(" )"));
}

bool same(const Failure& a, const Failure& b) {
    return a.kind == b.kind && a.at == b.at && a.reply.code == b.reply.code && a.reply.status == b.reply.status;
}

} // namespace

MailLog::MailLog(std::chrono::year_month_day today, const Limits& limits) : today_(today), limits_(limits) {}

// Lines of several processes may be slightly out of order.
std::optional<smtp::Duration> MailLog::time_of(const LogTime& when) {
    int year = when.year;
    if (year == 0) {
        if (year_ == 0) { // a date in the future belongs to last year
            const auto now = std::chrono::sys_days(today_);
            year_ = static_cast<int>(today_.year());
            if (days(year_, when.month, when.day) > now + std::chrono::days(1)) --year_;
        } else if (when.month == 1 && month_ == 12) {
            ++year_;
        }
        year = when.month == 12 && month_ == 1 ? year_ - 1 : year_;
        if (year == year_) month_ = when.month;
    }
    const auto day = days(year, when.month, when.day);
    if (!begun_) {
        begun_ = true;
        day_ = day;
        zone_ = when.zone;
        first_ = last_ = when.time;
    }
    const auto at = smtp::Duration(day - day_) + when.time - (when.zone - zone_);
    if (at < 0s || at > 400 * 24h) return {};
    last_ = std::max(last_, at);
    return at;
}

std::string MailLog::day() const {
    const std::chrono::year_month_day date(day_);
    return fmt::format("{} {:2}", smtp::month_names[static_cast<unsigned>(date.month()) - 1],
                       static_cast<unsigned>(date.day()));
}

std::uint32_t MailLog::message_of(std::string_view id) {
    const auto [place, fresh] = by_id_.try_emplace(std::string(id), static_cast<std::uint32_t>(messages_.size()));
    if (fresh) messages_.emplace_back();
    return place->second;
}

std::uint32_t MailLog::domain_of(std::string_view address) {
    const auto at = address.rfind('@');
    auto name = at == address.npos ? std::string() : config::domain_name(address.substr(at + 1));
    if (name.empty()) name = "localhost";
    const auto [place, fresh] = by_domain_.try_emplace(name, static_cast<std::uint32_t>(domains_.size()));
    if (fresh) domains_.emplace_back().name = std::move(name);
    return place->second;
}

// nullptr: beyond the limit.
Recipient* MailLog::recipient_of(std::uint32_t message, std::string_view address, smtp::Duration arrival) {
    const auto key = std::hash<std::string_view>()(address) ^ (message * 0x9e3779b97f4a7c15ULL);
    const auto known = by_address_.find(key);
    if (known != by_address_.end()) return &recipients_[known->second];
    if (recipients_.size() >= limits_.recipients) return nullptr;
    by_address_.emplace(key, static_cast<std::uint32_t>(recipients_.size()));
    auto& out = recipients_.emplace_back();
    out.message = message;
    out.domain = domain_of(address);
    out.next = std::exchange(messages_[message].first, static_cast<std::uint32_t>(recipients_.size() - 1));
    out.arrival = std::max(arrival, smtp::Duration(0));
    if (arrival < first_ - 1s) ++counts_.older;
    ++domains_[out.domain].recipients;
    return &out;
}

// nullptr: not a name that a scenario can contain, or beyond the limit.
HostRecord* MailLog::host(const Relay& relay, std::string* name) {
    constexpr std::uint16_t smtp = 25;
    HostName host{config::domain_name(relay.name), relay.port};
    if (host.name.empty() && common::IpAddress::parse(relay.name)) host.name = relay.name;
    if (host.name.empty()) return nullptr;
    if (host.port != 0) {
        if (ports_.size() < limits_.hosts || ports_.contains(host.name)) ports_[host.name] = host.port;
    } else if (const auto said = ports_.find(host.name); said != ports_.end()) {
        host.port = said->second;
    }
    if (host.port == smtp) host.port = 0;
    auto key = host.port == 0 && host.name.find(':') != host.name.npos ? "[" + host.name + "]" : host.to_string();
    auto found = hosts_.find(key);
    if (found == hosts_.end()) {
        if (hosts_.size() >= limits_.hosts) return nullptr;
        found = hosts_.try_emplace(key).first;
    }
    if (name != nullptr) *name = std::move(key);
    return &found->second;
}

void MailLog::attempt(HostRecord& record, const Failure* failure, smtp::Duration at) {
    if (attempts_ >= limits_.attempts) return;
    std::uint16_t kind = Attempt::passed;
    if (failure != nullptr) {
        const auto known = std::ranges::find_if(record.kinds, [&](const auto& each) { return same(each, *failure); });
        kind = static_cast<std::uint16_t>(known - record.kinds.begin());
        if (known == record.kinds.end()) {
            if (record.kinds.size() >= limits_.kinds) { // count it as a similar one
                const auto like = std::ranges::find(record.kinds, failure->at, &Failure::at);
                if (like == record.kinds.end()) return;
                kind = static_cast<std::uint16_t>(like - record.kinds.begin());
            } else {
                record.kinds.push_back(*failure);
                record.kinds.back().host.reset(); // points into the line
            }
        }
    }
    ++attempts_;
    record.attempts.push_back({at, kind});
}

// Records the result with the host or the lookup that it concerns.
void MailLog::attempted(const Delivery& what, Recipient& of, smtp::Duration at) {
    const bool good = what.status == "sent";
    const auto failure = good ? std::nullopt : parse_failure(what.text);
    if (!good && !failure) {
        if (what.relay && counts_.unsupported++ == 0) counts_.unsupported_text = std::string(what.text.substr(0, 200));
        return;
    }
    Domain& domain = domains_[of.domain];
    if (failure && is_dns_fault(failure->kind)) return attempt(domain.lookups, &*failure, at);
    const auto& relay = what.relay ? what.relay : failure ? failure->host : std::nullopt;
    std::string name;
    HostRecord* record = relay ? host(*relay, &name) : nullptr;
    if (record == nullptr) return; // local delivery or a command
    if (domain.hosts.size() < limits_.hosts_per_domain || domain.hosts.contains(name)) ++domain.hosts[name];
    attempt(domain.lookups, nullptr, at);
    if (of.first_try < 0s) {
        of.first_try = at;
        ++record->recipients;
    }
    const auto known_for = at - of.first_try;
    if (failure && failure->greylisting) {
        of.last_greylisted = at;
        record->max_rejected_wait = std::max(record->max_rejected_wait, known_for + 1s);
        return;
    }
    if (failure && failure->unknown_user) {
        ++record->unknown_users;
        return attempt(*record, nullptr, at);
    }
    attempt(*record, failure ? &*failure : nullptr, at);
    if (!good) return;
    if (of.last_greylisted >= 0s && (record->min_accepted_wait == 0s || known_for < record->min_accepted_wait))
        record->min_accepted_wait = known_for;
    const auto keep = [&](std::vector<float>& samples, const std::optional<smtp::Duration>& value) {
        if (value && samples.size() < limits_.samples) samples.push_back(std::chrono::duration<float>(*value).count());
    };
    if (!what.reused) keep(record->connects, what.connect);
    keep(record->transmissions, what.transmission);
}

void MailLog::delivery(std::string_view id, const Delivery& what, smtp::Duration at) {
    const auto number = message_of(id);
    const auto queued = messages_[number].queued;
    // A timestamp without fraction may be up to a second early.
    const auto ago = at % 1s == 0s ? what.delay / 1s * 1s : what.delay;
    auto* of = recipient_of(number, what.recipient, std::min(queued >= 0s ? queued : at, at - ago));
    if (of == nullptr) {
        ++counts_.over_limit;
        return;
    }
    if (!is_suspended(what.text)) attempted(what, *of, at);
    using State = Recipient::State;
    if (what.status == "sent") {
        of->state = State::delivered;
        of->delay = what.delay;
        if (const auto next = queued_as(what.text); !next.empty() && next_ids_.size() < limits_.recipients)
            next_ids_.emplace_back(static_cast<std::uint32_t>(of - recipients_.data()), next);
    } else if (what.status == "bounced" || what.status == "expired") {
        of->state = State::returned;
    }
}

void MailLog::take(std::string_view line) {
    ++counts_.lines;
    const auto read = read_line(line);
    if (!read) return;
    const auto at = time_of(read->when);
    if (!at) return;
    ++counts_.relevant;
    if (const auto* what = std::get_if<HostFailure>(&read->what)) {
        if (const auto failure = parse_failure(what->text); failure && failure->host)
            if (auto* record = host(*failure->host)) attempt(*record, &*failure, *at);
        return;
    }
    if (by_id_.size() >= limits_.recipients && !by_id_.contains(std::string(read->id))) {
        ++counts_.over_limit;
        return;
    }
    if (const auto* what = std::get_if<Delivery>(&read->what)) return delivery(read->id, *what, *at);
    const auto number = message_of(read->id);
    if (const auto* what = std::get_if<Queued>(&read->what)) {
        auto& message = messages_[number];
        message.sender = what->sender.substr(0, longest_address);
        message.sender_known = true;
        message.size = what->size;
        if (message.queued < 0s) message.queued = *at;
    } else if (const auto* what = std::get_if<Reported>(&read->what)) {
        messages_[message_of(what->report)].is_report = true;
    } else { // expired: all recipients still waiting
        for (auto each = messages_[number].first; each != Recipient::none; each = recipients_[each].next)
            if (auto& state = recipients_[each].state; state == Recipient::State::waiting)
                state = Recipient::State::returned;
    }
}

void MailLog::end() {
    for (const auto& [number, id] : next_ids_)
        if (const auto known = by_id_.find(id); known != by_id_.end() && known->second != recipients_[number].message)
            recipients_[number].state = Recipient::State::requeued;
    next_ids_.clear();
}

} // namespace postrider::simulate::from_log
