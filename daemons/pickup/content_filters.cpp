#include "daemons/pickup/content_filters.h"
#include "daemons/common/filters/header_check_result.h"
#include <fmt/format.h>

namespace pickup {

using config::Stage;
using namespace std::chrono_literals;

// sendmail waits five minutes for a sign of life: an answer that came later would find nobody, and the message
// would be sent twice.
static constexpr auto longest_review = 4min;

std::shared_ptr<const Advisers> Advisers::of(const config::Config& config, std::function<void(std::string_view)> tell) {
    auto advisers = std::make_shared<Advisers>(std::move(tell));
    if (auto checks = common::HeaderChecks::parse(config.content.header_checks)) // as the configuration's check did
        advisers->header_checks = *std::move(checks);
    for (const auto& milter : config.milters)
        if (milter.sees_local()) advisers->milters.push_back(milter);
    return advisers;
}

Review::Review(common::Loop& loop, common::Log& log, std::shared_ptr<const Advisers> advisers, std::string hostname,
               std::string queue_id, spool::MessageWriter& writer, spool::Envelope& envelope)
    : log_(log), advisers_(std::move(advisers)), hostname_(std::move(hostname)), queue_id_(std::move(queue_id)),
      envelope_(envelope), message_(writer, envelope), patience_(loop, [this] {
          log_.warning("{}: filters took longer than {} s", queue_id_, std::chrono::seconds(longest_review).count());
          milters_.clear(); // one is in the middle of it, and the message is about to go
          finish({smtp::Reply{451, {4, 7, 1}, "mail filters take too long, try again later"}});
      }) {
    for (const auto& milter : advisers_->milters)
        milters_.push_back(std::make_unique<milter::Client>(
            loop, log, milter, milter::availability_of(milter, *advisers_->troubles)));
    steps_ = {{Stage::connect, {}}, {Stage::helo, {}}, {Stage::mail, {}}};
    for (const auto& recipient : envelope.recipients) steps_.push_back({Stage::rcpt, recipient.address});
    steps_.push_back({Stage::data, {}});
    steps_.push_back({Stage::end_of_data, {}});
}

void Review::begin(Done done) {
    done_ = std::move(done);
    patience_.start(longest_review);
    if (advisers_->header_checks.empty()) return go_on();
    message_.load([this](const spool::Result<>& loaded) {
        if (!done_) return;
        if (!loaded) {
            log_.warning("{}: {}", queue_id_, loaded.error().what);
            return finish({smtp::Reply{451, {4, 3, 0}, "queue file read error, try again later"}});
        }
        check_header();
    });
}

void Review::check_header() {
    const auto judged = common::judge_header(advisers_->header_checks, message_);
    for (const auto& trouble : judged.trouble) log_.warning("{}: {}", queue_id_, trouble);
    for (const auto& line : judged.lines)
        log_.as("cleanup").info("{}: {}: {} from local; {}: {}", queue_id_, line.verb, line.subject, from_to(),
                                line.text);
    if (judged.refusal || !judged.discard.empty()) return finish({judged.refusal, !judged.discard.empty()});
    if (!judged.hold.empty()) hold(judged.hold);
    go_on();
}

void Review::go_on() {
    if (milters_.empty()) return finish({});
    for (; step_ < steps_.size(); ++step_, next_ = 0) {
        while (next_ < milters_.size()) {
            const auto& step = steps_[step_];
            auto event = milter::event_of(step.stage, {.server = hostname_,
                                                       .listener = config::local_mail,
                                                       .client_name = "localhost",
                                                       .client_address = "127.0.0.1",
                                                       .helo = "localhost",
                                                       .queue_id = queue_id_,
                                                       .sender = envelope_.reverse_path,
                                                       .recipient = step.recipient,
                                                       .message = &message_});
            const auto word = milters_[next_++]->ask(std::move(event), [this](const milter::Word& late) {
                if (done_ && heed(late)) go_on();
            });
            if (!word || !heed(*word)) return;
        }
    }
    finish({});
}

bool Review::heed(const milter::Word& word) {
    constexpr std::string_view commands[] = {"CONNECT", "HELO", "MAIL", "RCPT", "DATA", "END-OF-MESSAGE"};
    const auto& step = steps_[step_];
    const auto note = [&](std::string_view verb, std::string_view text) {
        log_.as("cleanup").info("{}: milter-{}: {} from localhost[127.0.0.1]: {}; {}", queue_id_, verb,
                                commands[static_cast<std::size_t>(step.stage)], text, from_to());
    };
    if (word.what == milter::Word::What::refuse) {
        note("reject", word.reply.line());
        finish({word.reply});
        return false;
    }
    if (word.what == milter::Word::What::discard) {
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

void Review::hold(const std::string& why) {
    if (envelope_.verdict != spool::Verdict::accept) return;
    envelope_.verdict = spool::Verdict::hold;
    envelope_.verdict_reason = why;
}

std::string Review::from_to() const {
    auto text = fmt::format("from=<{}>", envelope_.reverse_path);
    if (envelope_.recipients.size() == 1) text += fmt::format(" to=<{}>", envelope_.recipients.front().address);
    return text;
}

void Review::finish(Outcome outcome) {
    if (!done_) return;
    patience_.stop();
    const auto done = std::exchange(done_, nullptr);
    done(std::move(outcome));
}

} // namespace pickup
