#include "daemons/bounce/bounce.h"
#include "daemons/common/runtime/crash_point.h"
#include "libspool/message/message_reader.h"
#include <algorithm>
#include <ctime>
#include <iterator>

namespace bounce {
namespace {

using proto::report::Outcome;
using proto::report::Reported;
using spool::Result;

constexpr std::size_t at_a_time = 64;      // reports being made; more wait
constexpr std::size_t answers_kept = 4096; // for questions that come again …
constexpr std::size_t most_numbers = 250'000; // … and numbers of recipients in them
constexpr std::uint64_t headers_read = 64 * 1024;

Clock clock_now() {
    const smtp::WallTime now = common::Loop::now().wall;
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    std::tm local{};
    localtime_r(&seconds, &local);
    return {now, std::chrono::minutes(local.tm_gmtoff / 60)};
}

Wordings texts_of(const config::Config& config, common::Log& log) {
    auto texts = common::load_report_texts(config.bounce.templates);
    for (const auto& problem : texts.problems) log.warning("{}", problem);
    return std::move(texts.wordings);
}

// Reports may use the last of the disk: what is kept free is kept for them. They are rarely many at once.
config::Spool for_reports(config::Spool settings) {
    settings.minimum_free = settings.minimum_free_inodes = 0;
    settings.sync_threads = std::min<decltype(settings.sync_threads)>(settings.sync_threads, 8);
    return settings;
}

// Strangers decide how much ends in bad/, so that no single message may have much of it.
Share share_of(const config::Spool& settings) {
    return {4 * 1024 * 1024, {settings.minimum_free, settings.minimum_free_inodes}};
}

} // namespace

Result<std::unique_ptr<Bounce>> Bounce::create(common::Surroundings& surroundings, common::Orders orders) {
    auto intake =
        TRY(common::Intake::open(surroundings.loop, surroundings.log, for_reports(orders.config.spool),
                                 static_cast<std::uint8_t>(surroundings.instance()), surroundings.trouble,
                                 surroundings.figures, common::Source::report));
    return std::unique_ptr<Bounce>(new Bounce(surroundings, orders.config, std::move(intake)));
}

Bounce::Bounce(common::Surroundings& surroundings, const config::Config& config,
               std::unique_ptr<common::Intake> intake)
    : log_(surroundings.log), settings_(settings_of(config, texts_of(config, log_))), share_(share_of(config.spool)),
      intake_(std::move(intake)), outbox_(surroundings.loop, log_, surroundings.run, surroundings.identity),
      queue_manager_(surroundings.loop, log_, surroundings.run + "/private/queue-manager",
                     proto::report::conversation, surroundings.identity,
                     {[this](proto::report::Message&& message) {
                         if (auto* report = std::get_if<proto::report::Report>(&message))
                             part_of_question(std::move(*report));
                         else
                             queue_manager_.fail("only Report is said here");
                     },
                      {},
                      [this](const std::string&) { questions_.forget_all(); }}) {}

void Bounce::reconfigure(common::Orders orders) {
    settings_ = settings_of(orders.config, texts_of(orders.config, log_));
    share_ = share_of(orders.config.spool);
    intake_->reconfigure(for_reports(orders.config.spool));
}

void Bounce::stop(smtp::Duration, std::function<void()> done) {
    stopped_ = std::move(done);
    waiting_.clear(); // never answered: asked again of the next
    check_stopped();
}

void Bounce::check_stopped() {
    if (stopped_ && running_ == 0) std::exchange(stopped_, nullptr)();
}

void Bounce::part_of_question(proto::report::Report&& part) {
    auto question = questions_.add(std::move(part));
    if (!question) return; // more of it follows
    if (question->complete) return asked(std::move(question->message));
    tell({.request = question->message.request,
          .outcome = Outcome::try_later,
          .text = fmt::format("reports on very many recipients are being made, of more than {} MiB",
                              proto::report::largest_questions >> 20)});
}

// While the connection is down it is asked again, and remembered.
void Bounce::tell(Reported reported) {
    reported.text.resize(std::min(reported.text.size(), proto::report::longest_text));
    static_cast<void>(queue_manager_.send(reported));
}

void Bounce::asked(proto::report::Report&& report) {
    Question question{report.queue_id, report.kind, {}};
    for (const auto& recipient : report.recipients) question.recipients.push_back(recipient.number);
    if (const auto before = answered_.find(question); before != answered_.end()) {
        before->second.request = report.request;
        return tell(before->second);
    }
    if (const auto same = active_.find(question); same != active_.end()) {
        same->second->report.request = report.request; // the answer goes to who asked last
        return;
    }
    auto work = std::make_shared<Work>();
    work->question = question;
    work->material.queue_id = report.queue_id;
    work->report = std::move(report);
    active_.emplace(std::move(question), work);
    waiting_.push_back(std::move(work));
    start_next();
}

void Bounce::start_next() {
    while (!stopped_ && running_ < at_a_time && !waiting_.empty()) {
        Shared work = std::move(waiting_.front());
        waiting_.pop_front();
        ++running_;
        intake_->pool().post([this, work, limit = settings_.full_content_limit] {
            work->answer.outcome = Outcome::not_wanted;
            work->material.content_complete = false;
            auto reader = spool::MessageReader::open(intake_->disk(), work->report.queue_id,
                                                     work->report.location, spool::ReadLock::none);
            if (!reader) {
                work->why = spool::text_of(reader.error());
            } else {
                work->state = reader->state();
                const bool whole = reader->size() <= limit && wants_content(work->report, *work->state);
                auto content = whole ? reader->read_content() : reader->read_header(headers_read);
                // A report without the message is better than none.
                if (content) work->material = {work->report.queue_id, *std::move(content), whole};
            }
            intake_->pool().complete([this, work] {
                if (work->state) work->audiences = audiences_of(work->report, *work->state);
                auto copies = postmaster_copies(settings_, work->report.kind, work->audiences);
                if (const auto before = told_.leave_out(work->report, work->audiences)) work->answer = *before;
                // They come last, and what is answered is what became of the senders'.
                work->audiences.insert(work->audiences.begin(), copies.begin(), copies.end());
                tell_next(work);
            });
        });
    }
}

void Bounce::tell_next(const Shared& work) {
    if (!work->why.empty() || work->audiences.empty()) return answer(work);
    const Audience audience = std::move(work->audiences.back());
    work->audiences.pop_back();
    if (audience.postmaster || !audience.reverse_path.empty()) return write_report(work, audience);
    // Nobody can be told: only what failed for good is worth keeping.
    if (work->report.kind == smtp::ReportKind::failed) return keep_in_bad(work, audience);
    tell_next(work);
}

void Bounce::keep_in_bad(const Shared& work, const Audience& audience) {
    std::string why;
    for (const auto& r : audience.recipients)
        why += fmt::format("{}<{}>: {} {}", why.empty() ? "" : "\n",
                           work->state->recipients[r.number].address, r.reason.status, r.reason.text);
    intake_->pool().post([this, work, audience, why = std::move(why), share = share_] {
        const auto copied = copy_to_bad(intake_->disk(), work->report.queue_id, work->report.location, why, share);
        KILL_POINT("bounce.kept_in_bad");
        if (!copied) work->why = copied.error().what;
        const bool header = copied && *copied == Copied::header;
        intake_->pool().complete([this, work, audience, header] {
            if (work->why.empty()) {
                log_.warning("{}: undeliverable, and it has no sender to be told: {}kept in bad/",
                             work->report.queue_id.text(), header ? "its header is " : "");
                if (work->answer.outcome != Outcome::submitted) work->answer.outcome = Outcome::kept_in_bad;
                told_.note(work->report, audience, work->answer);
            }
            tell_next(work);
        });
    });
}

void Bounce::write_report(const Shared& work, const Audience& audience) {
    const Clock clock = clock_now();
    const auto id = intake_->admit(0, common::Loop::now());
    if (!id) {
        if (audience.postmaster) return tell_next(work); // the sender has been told: not again for the copy's sake
        work->why = id.error() == common::Shut::full ? "the spool is full" : "the spool cannot be written";
        return answer(work);
    }
    const Composition made =
        compose(settings_, work->report, audience, *work->state, work->material, *id, clock);
    if (settings_.dry && work->report.kind != smtp::ReportKind::status)
        return keep_dry(work, audience, *id, made);
    spool::MessageWriter writer = intake_->write(*id, made.envelope);
    writer.append(made.content);
    KILL_POINT("bounce.before_commit");
    intake_->commit(writer, [this, work, audience, message_id = made.envelope.message_id,
                             envelope = writer.encoded_envelope()](Result<spool::DurableReceipt> receipt) {
        KILL_POINT("bounce.durable");
        written(work, receipt, audience, message_id, envelope);
    });
}

// bounce.dry_bounce.
void Bounce::keep_dry(const Shared& work, const Audience& audience, spool::QueueId id, const Composition& made) {
    const auto why = fmt::format("bounce.dry_bounce: {} of {} to <{}>, not sent", kind_of(work->report.kind),
                                 work->report.queue_id.text(), made.envelope.recipients.front().address);
    intake_->pool().post([this, work, audience, id, why, content = made.content] {
        const auto kept = keep_report(intake_->disk(), id, content, why);
        if (!kept) work->why = kept.error().what;
        intake_->pool().complete([this, work, audience, id] {
            if (work->why.empty()) {
                log_.warning("{}: {}: kept in bad/{}.eml and not sent (bounce.dry_bounce)",
                             work->report.queue_id.text(), kind_of(work->report.kind), id.text());
                work->answer.outcome = Outcome::kept_in_bad;
                if (!audience.postmaster) told_.note(work->report, audience, work->answer);
            }
            tell_next(work);
        });
    });
}

void Bounce::written(const Shared& work, const Result<spool::DurableReceipt>& receipt, const Audience& audience,
                     const std::string& message_id, const std::string& envelope) {
    if (!receipt && audience.postmaster) { // the sender has been told: that is not done again for the copy's sake
        log_.warning("{}: no copy for the postmaster: {}", work->report.queue_id.text(), receipt.error().what);
        return tell_next(work);
    }
    if (!receipt) {
        work->why = receipt.error().what;
        return answer(work);
    }
    const std::string parent = work->report.queue_id.text(), id = receipt->queue_id().text();
    log_.as("cleanup").info("{}: message-id={}", id, message_id);
    log_.info("{}: {}: {}", parent, audience.postmaster ? "postmaster notification" : kind_of(work->report.kind),
              id);
    outbox_.submit(*receipt, envelope);
    if (!audience.postmaster) {
        work->answer.outcome = Outcome::submitted;
        work->answer.report_id = receipt->queue_id();
        told_.note(work->report, audience, work->answer);
    }
    tell_next(work);
}

void Bounce::answer(const Shared& work) {
    Reported& reported = work->answer;
    if (!work->why.empty()) {
        reported.outcome = Outcome::try_later;
        reported.text = work->why;
    }
    reported.request = work->report.request;
    KILL_POINT("bounce.before_reported");
    tell(reported);
    active_.erase(work->question);
    if (reported.outcome != Outcome::try_later) {
        told_.forget(work->report);
        answered_[work->question] = reported;
        answered_order_.push_back(work->question);
        numbers_kept_ += work->question.recipients.size();
        while (answered_order_.size() > answers_kept || (numbers_kept_ > most_numbers && answered_order_.size() > 1)) {
            numbers_kept_ -= answered_order_.front().recipients.size();
            answered_.erase(answered_order_.front());
            answered_order_.pop_front();
        }
    }
    --running_;
    start_next();
    check_stopped();
}

} // namespace bounce
