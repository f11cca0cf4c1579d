#include "daemons/pickup/content_filters.h"
#include "daemons/common/rewriting/header_masquerade.h"
#include <fmt/format.h>

namespace pickup {

using config::Stage;
using namespace std::chrono_literals;

// sendmail waits five minutes for a sign of life: a later answer would find no program waiting, and the message would
// be sent twice.
static constexpr auto filter_time_limit = 4min;

std::shared_ptr<const ContentFilters> ContentFilters::configured(const config::Content& content,
                                                                 std::shared_ptr<common::CanonicalTables> canonical,
                                                                 const config::Masquerade& masquerade,
                                                                 const std::vector<config::Milter>& milters,
                                                                 std::function<void(std::string_view)> tell) {
    auto filters = std::make_shared<ContentFilters>(std::move(tell));
    filters->content = common::content_rules_of(content);
    filters->canonical = std::move(canonical);
    filters->masquerade = masquerade;
    for (const auto& milter : milters)
        if (milter.applies_to_local()) filters->milters.push_back(milter);
    return filters;
}

FilterRun::FilterRun(common::Loop& loop, common::Log& log, std::shared_ptr<const ContentFilters> filters,
                     std::string hostname, std::string queue_id, spool::MessageWriter& writer,
                     spool::Envelope& envelope)
    : log_(log), filters_(std::move(filters)), hostname_(std::move(hostname)), queue_id_(std::move(queue_id)),
      envelope_(envelope), message_(writer, envelope), content_(filters_->content, message_), time_limit_(loop, [this] {
          log_.warning("{}: filters took longer than {} s", queue_id_, std::chrono::seconds(filter_time_limit).count());
          milters_.clear(); // one is in the middle of it, and the message is about to go
          finish({smtp::Reply{451, {4, 7, 1}, "mail filters take too long, try again later"}});
      }) {
    for (const auto& milter : filters_->milters)
        milters_.push_back(std::make_unique<milter::Client>(loop, log, milter,
                                                            milter::service_status_of(milter, *filters_->problems)));
    steps_ = {{Stage::connect, {}}, {Stage::helo, {}}, {Stage::mail, {}}};
    for (const auto& recipient : envelope.recipients) steps_.push_back({Stage::rcpt, recipient.address});
    steps_.push_back({Stage::data, {}});
    steps_.push_back({Stage::end_of_data, {}});
}

void FilterRun::begin(Done done) {
    done_ = std::move(done);
    time_limit_.start(filter_time_limit);
    if (filters_->content.empty() && !filters_->canonical_applies() && !filters_->masquerades()) return run_next_step();
    content_.begin([this](const spool::Result<common::HeaderCheckResult>& judged) {
        if (!done_) return;
        if (!judged) {
            log_.warning("{}: {}", queue_id_, judged.error().what);
            return finish({smtp::Reply{451, {4, 3, 0}, "queue file read error, try again later"}});
        }
        if (!take_result(*judged)) return;
        rewrite_header();
    });
}

bool FilterRun::take_result(const common::HeaderCheckResult& judged) {
    for (const auto& trouble : judged.warnings) log_.warning("{}: {}", queue_id_, trouble);
    for (const auto& line : judged.lines)
        log_.context("cleanup").info("{}: {}: {} from local; {}: {}", queue_id_, line.verb, line.subject, from_to(),
                                     line.text);
    if (judged.is_final()) {
        finish({judged.refusal, !judged.discard.empty()});
        return false;
    }
    if (!judged.hold.empty()) hold(judged.hold);
    if (!judged.content_filter.empty()) envelope_.content_filter = judged.content_filter;
    return true;
}

void FilterRun::rewrite_header() {
    if (!filters_->canonical_applies()) return masquerade();
    header_.emplace(*filters_->canonical, message_);
    auto outcome = header_->run([this](common::CanonicalHeader::Outcome late) {
        if (done_) take(std::move(late));
    });
    if (outcome) take(*std::move(outcome));
}

void FilterRun::take(common::CanonicalHeader::Outcome outcome) {
    for (const auto& warning : outcome.warnings)
        log_.warning("{}: canonical tables do not change all of the header: {}", queue_id_, warning);
    filters_->problems->set("canonical tables", filters_->canonical->tables.problem());
    if (outcome.failed.empty()) return masquerade();
    log_.warning("{}: canonical tables: {}", queue_id_, outcome.failed);
    finish({smtp::Reply{451, {4, 3, 0}, "Temporary lookup failure"}});
}

void FilterRun::masquerade() {
    if (!filters_->masquerades()) return run_next_step();
    const auto& [rules, classes, origins] = filters_->masquerade;
    if (const auto why = common::masquerade_header(rules, classes, message_); !why.empty())
        log_.warning("{}: addresses in the header are not masqueraded: {}", queue_id_, why);
    run_next_step();
}

void FilterRun::run_next_step() {
    if (milters_.empty()) return finish({});
    for (; step_ < steps_.size(); ++step_, next_milter_ = 0) {
        while (next_milter_ < milters_.size()) {
            const auto& step = steps_[step_];
            auto event = milter::event_of(step.stage, {.server = hostname_,
                                                       .listener = config::local_submissions,
                                                       .client_name = "localhost",
                                                       .client_address = "127.0.0.1",
                                                       .helo = "localhost",
                                                       .queue_id = queue_id_,
                                                       .sender = envelope_.reverse_path,
                                                       .recipient = step.recipient,
                                                       .message = &message_});
            const auto word = milters_[next_milter_++]->ask(std::move(event), [this](const milter::Response& late) {
                if (done_ && apply(late)) run_next_step();
            });
            if (!word || !apply(*word)) return;
        }
    }
    finish({});
}

bool FilterRun::apply(const milter::Response& word) {
    constexpr std::string_view commands[] = {"CONNECT", "HELO", "MAIL", "RCPT", "DATA", "END-OF-MESSAGE"};
    const auto& step = steps_[step_];
    const auto note = [&](std::string_view verb, std::string_view text) {
        log_.context("cleanup").info("{}: milter-{}: {} from localhost[127.0.0.1]: {}; {}", queue_id_, verb,
                                     commands[static_cast<std::size_t>(step.stage)], text, from_to());
    };
    if (word.what == milter::Response::What::refuse) {
        note("reject", word.reply.line());
        finish({word.reply});
        return false;
    }
    if (word.what == milter::Response::What::discard) {
        note("discard", "discarded by a filter");
        finish({.refusal = {}, .discard = true});
        return false;
    }
    if (!word.changes.quarantine.empty()) {
        note("hold", word.changes.quarantine);
        hold(word.changes.quarantine);
    }
    return true;
}

void FilterRun::hold(const std::string& why) {
    if (envelope_.verdict != spool::Verdict::accept) return;
    envelope_.verdict = spool::Verdict::hold;
    envelope_.verdict_reason = why;
}

std::string FilterRun::from_to() const {
    auto text = fmt::format("from=<{}>", envelope_.reverse_path);
    if (envelope_.recipients.size() == 1) text += fmt::format(" to=<{}>", envelope_.recipients.front().address);
    return text;
}

void FilterRun::finish(Outcome outcome) {
    if (!done_) return;
    time_limit_.stop();
    const auto done = std::exchange(done_, nullptr);
    done(std::move(outcome));
}

} // namespace pickup
