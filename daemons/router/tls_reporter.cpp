#include "daemons/router/tls_reporter.h"
#include "daemons/common/ipc/frame.h"
#include "daemons/common/ipc/message.h"
#include "daemons/common/net/local_socket.h"
#include "daemons/common/runtime/read_file.h"
#include "daemons/common/runtime/replace_file.h"
#include "daemons/common/submission/submit_client.h"
#include "libsmtp/text/date.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <random>
#include <unistd.h>
#include <uv.h>

namespace router {

using common::Loop;
namespace tls_rpt = decide::tls_rpt;
using namespace std::chrono_literals;

namespace {

constexpr std::uintmax_t max_report_file = 64 * 1024 * 1024;

// An address of the destination, for the log.
std::string text_of(const tls_rpt::Destination& to) {
    return to.mailbox.empty() ? fmt::format("https://{}:{}{}", to.host, to.port, to.target) : "<" + to.mailbox + ">";
}

} // namespace

// Waits for pickup's answer in a thread. It may outlive its owner, which then gets no result.
struct TlsReporter::Submission {
    TlsReporter* owner;
    std::string domain, to, socket, sender, content;
    std::optional<proto::submit::Answer> answer;
    std::string trouble;
    uv_work_t request = {};

    void run() {
        using namespace proto::submit;
        auto connected = common::connect_local(socket);
        if (!connected) {
            trouble = connected.error().what;
            return;
        }
        Begin begin;
        begin.sender = sender;
        begin.recipients = {{to, "", 1}}; // NOTIFY=NEVER: no report if this one cannot be delivered
        std::size_t at = 0;
        enum { beginning, content_pieces, end, all } stage = beginning;
        const auto frame = [](std::string& wire, const auto& message) {
            const auto begun = ipc::begin_frame(wire);
            ipc::encode<Message>(message, wire);
            return ipc::end_frame(wire, begun) ? common::Made::frame : common::Made::broken;
        };
        answer = common::hand_over(*std::move(connected), [&](std::string& wire) {
            if (stage == beginning) {
                stage = content_pieces;
                return frame(wire, begin);
            }
            if (stage == content_pieces && at < content.size()) {
                const auto piece = content.substr(at, largest_content);
                at += piece.size();
                return frame(wire, Content{piece});
            }
            if (stage == content_pieces) {
                stage = end;
                return frame(wire, End{});
            }
            return common::Made::all;
        });
        if (!answer)
            trouble = "pickup closed the connection";
        else if (answer->status != 0)
            trouble = answer->text;
    }
};

TlsReporter::TlsReporter(common::Loop& loop, common::Log& log, std::string directory, std::string submit)
    : loop_(loop), log_(log), directory_(std::move(directory)), submit_(std::move(submit)),
      timer_(loop, [this] { maintain(); }) {
    load();
}

TlsReporter::~TlsReporter() {
    for (auto* work : submissions_) work->owner = nullptr;
}

void TlsReporter::use(dns::Resolver* resolver, common::Https* https, const config::TlsReports& settings,
                      const std::string& hostname) {
    for (auto* work : submissions_) work->owner = nullptr; // their result is lost; at worst a report is sent twice
    submissions_.clear();
    sending_.clear();
    for (auto& [day, totals] : days_) totals.last.clear();
    resolver_ = resolver;
    https_ = https;
    settings_ = settings;
    hostname_ = hostname;
    if (resolver_)
        timer_.start(0s);
    else
        timer_.stop();
}

// --- counting
// -------------------------------------------------------------------------------------------------------

std::string TlsReporter::path(Day day) const { return directory_ + "/" + smtp::iso_date(day) + ".json"; }

void TlsReporter::load() {
    std::error_code bad;
    for (std::filesystem::directory_iterator entry(directory_, bad), end; !bad && entry != end; entry.increment(bad)) {
        const auto name = entry->path().filename().string();
        const auto day = smtp::parse_rfc3339(name.substr(0, name.find('.')) + "T00:00:00Z");
        std::error_code odd;
        if (name == ".new") continue; // of a write that was cut short
        std::optional<TlsTotals> totals;
        if (day && name.ends_with(".json") && entry->file_size(odd) <= max_report_file && !odd)
            if (const auto text = common::read_file(entry->path().string())) totals = TlsTotals::decode(*text);
        if (totals)
            days_[std::chrono::floor<std::chrono::days>(*day)].totals = *std::move(totals);
        else
            log_.warning("{}: cannot read totals of TLS sessions; ignored", entry->path().string());
    }
}

void TlsReporter::count(const decide::TlsOutcome& outcome, std::uint64_t sessions, const std::vector<std::string>& text,
                        const std::vector<std::string>& hosts) {
    auto& today = days_[std::chrono::floor<std::chrono::days>(Loop::now().wall)];
    today.totals.count(outcome, sessions, text, hosts);
    today.dirty = true;
}

void TlsReporter::save() {
    for (auto& [day, totals] : days_) {
        if (!totals.dirty) continue;
        const auto saved = common::replace_file(directory_, smtp::iso_date(day) + ".json", totals.totals.encode());
        if (!saved) log_.warning("{}: the totals of TLS sessions will be lost at a restart", saved.error().what);
        totals.dirty = !saved;
    }
}

// --- sending
// --------------------------------------------------------------------------------------------------------

// Days that have ended: their reports, spread over a while, because the day ends at the same time for all reporters.
void TlsReporter::maintain() {
    const auto now = Loop::now().wall;
    auto next = save_interval;
    for (auto at = days_.begin(); at != days_.end();) {
        auto& [day, totals] = *at;
        const auto end = day + std::chrono::days(1);
        if (now < end) {
            next = std::min<smtp::Duration>(next, end - now);
            ++at;
            continue;
        }
        if (totals.due == smtp::WallTime{}) {
            std::random_device chance;
            totals.due =
                end + smtp::Duration(std::uniform_int_distribution<std::int64_t>(0, settings_.delay.count())(chance));
        }
        if (now >= totals.due) start(day, totals);
        const bool busy =
            std::ranges::any_of(sending_, [&, day = day](auto& each) { return each.second.of.day == day; });
        if (!busy && !totals.totals.domains.empty() && totals.last.empty() && now - end > give_up_after) {
            log_.warning("TLS reports for {} could not be delivered to {} domains; given up", smtp::iso_date(day),
                         totals.totals.domains.size());
            totals.totals.domains.clear();
        }
        if (!busy && totals.totals.domains.empty()) {
            ::unlink(path(day).c_str());
            at = days_.erase(at);
            continue;
        }
        if (now < totals.due) next = std::min<smtp::Duration>(next, totals.due - now);
        ++at;
    }
    save();
    timer_.start(std::max<smtp::Duration>(next, 10ms));
}

// As many as may be under way.
void TlsReporter::start(Day day, Totals& totals) {
    auto& domains = totals.totals.domains;
    for (auto at = domains.upper_bound(totals.last); at != domains.end() && sending_.size() < max_active; ++at) {
        const auto& domain = totals.last = at->first;
        if (sending_.contains(domain)) continue; // of another day: next time
        auto& sending = sending_[domain];
        sending.of = {settings_.organization, settings_.contact, settings_.from, hostname_, domain, day};
        sending.record =
            resolver_->look_up("_smtp._tls." + domain, dns::Type::txt,
                               [this, domain](const dns::Answer& answer) { record_found(domain, answer); });
    }
    if (domains.upper_bound(totals.last) == domains.end() && sending_.empty() && !domains.empty()) {
        totals.last.clear(); // all have had their turn
        totals.due = Loop::now().wall + retry_interval;
    }
}

void TlsReporter::record_found(const std::string& domain, const dns::Answer& answer) {
    auto& sending = sending_.at(domain);
    sending.to = decide::tls_rpt::find_destinations(answer.texts);
    if (sending.to.empty()) return ended(domain, answer.said != dns::LookupStatus::failed); // no report is wanted
    sending.packed = gzip(report_json(sending.of, days_[sending.of.day].totals.domains[domain]));
    step(domain);
}

// One destination after the other; every one of them gets it.
void TlsReporter::step(const std::string& domain) {
    auto& sending = sending_.at(domain);
    if (sending.next == sending.to.size()) return ended(domain, sending.delivered);
    const auto& to = sending.to[sending.next++];
    if (to.mailbox.empty())
        look_for_host(domain);
    else
        mail(domain, to.mailbox);
}

void TlsReporter::mail(const std::string& domain, const std::string& to) {
    auto& sending = sending_.at(domain);
    auto* work = new Submission{
        this, domain, to, submit_, settings_.from, report_mail(sending.of, to, sending.packed, Loop::now().wall),
        {},   {}};
    submissions_.push_back(work);
    work->request.data = work;
    uv_queue_work(
        &loop_.uv(), &work->request, [](uv_work_t* request) { static_cast<Submission*>(request->data)->run(); },
        [](uv_work_t* request, int) {
            const std::unique_ptr<Submission> work(static_cast<Submission*>(request->data));
            if (work->owner) work->owner->mailed(*work);
        });
}

void TlsReporter::mailed(const Submission& work) {
    std::erase(submissions_, &work);
    auto& sending = sending_.at(work.domain);
    if (work.trouble.empty())
        log_.info("{}: TLS report for {} mailed to <{}>: {}", work.domain, smtp::iso_date(sending.of.day), work.to,
                  work.answer->queue_id);
    else
        log_.warning("{}: TLS report for {} could not be mailed to <{}>: {}", work.domain,
                     smtp::iso_date(sending.of.day), work.to, work.trouble);
    sending.delivered = sending.delivered || work.trouble.empty();
    step(work.domain);
}

void TlsReporter::look_for_host(const std::string& domain) {
    auto& sending = sending_.at(domain);
    const auto& host = sending.to[sending.next - 1].host;
    sending.addresses.clear();
    sending.open = 2;
    const auto take = [this, domain](const dns::Answer& answer) {
        auto& sending = sending_.at(domain);
        sending.addresses.insert(sending.addresses.end(), answer.addresses.begin(), answer.addresses.end());
        if (--sending.open == 0) post(domain);
    };
    sending.aaaa = resolver_->look_up(host, dns::Type::aaaa, take);
    sending.a = resolver_->look_up(host, dns::Type::a, take);
}

void TlsReporter::post(const std::string& domain) {
    auto& sending = sending_.at(domain);
    const auto& to = sending.to[sending.next - 1];
    const auto failed = [this, domain, to](const std::string& why) {
        log_.warning("{}: TLS report for {} could not be posted to {}: {}", domain,
                     smtp::iso_date(sending_.at(domain).of.day), text_of(to), why);
        step(domain);
    };
    if (sending.addresses.empty()) return failed("the host has no address");
    common::Https::Request request;
    request.host = to.host;
    request.port = to.port;
    request.target = to.target;
    request.addresses = sending.addresses;
    request.content = sending.packed;
    request.content_type = "application/tlsrpt+gzip";
    sending.exchange = https_->start(request, [this, domain, to, failed](const common::Https::Answer& answer) {
        if (answer.failure != common::Https::Failure::none) return failed(answer.why);
        if (answer.status / 100 != 2) return failed(fmt::format("the web server answered {}", answer.status));
        auto& sending = sending_.at(domain);
        log_.info("{}: TLS report for {} posted to {}", domain, smtp::iso_date(sending.of.day), text_of(to));
        sending.delivered = true;
        step(domain);
    });
}

// `done`: it has its report, or wants none.
void TlsReporter::ended(const std::string& domain, bool done) {
    const auto sending = sending_.extract(domain);
    auto& totals = days_[sending.mapped().of.day];
    if (done) {
        totals.totals.domains.erase(domain);
        totals.dirty = true;
    }
    timer_.start(0s);
}

} // namespace router
