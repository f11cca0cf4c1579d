#include "daemons/bounce/bounce.h"
#include "daemons/common/config/config.h"
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

constexpr std::size_t max_active = 64;       // reports being made; more wait
constexpr std::size_t max_answers = 4096;    // for questions that come again …
constexpr std::size_t max_numbers = 250'000; // … and numbers of recipients in them
constexpr std::uint64_t header_read_limit = 64 * 1024;

Clock clock_now() {
    const smtp::WallTime now = common::Loop::now().wall;
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    std::tm local{};
    localtime_r(&seconds, &local);
    return {now, std::chrono::minutes(local.tm_gmtoff / 60)};
}

Wordings texts_of(const config::Bounce& settings, common::Log& log) {
    auto texts = common::load_report_texts(settings.templates);
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
StoreLimits store_limits_of(const config::Spool& settings) {
    return {4 * 1024 * 1024, {settings.minimum_free, settings.minimum_free_inodes}};
}

} // namespace

Result<std::unique_ptr<Bounce>> Bounce::create(common::DaemonContext& context, common::DaemonConfig daemon_config) {
    auto spool_writer =
        TRY(common::SpoolWriter::open(context.loop, context.log, for_reports(daemon_config.config.spool),
                                      static_cast<std::uint8_t>(context.instance()), context.report_problem,
                                      context.metrics, common::MailSource::report));
    return std::unique_ptr<Bounce>(new Bounce(context, daemon_config.config, std::move(spool_writer)));
}

Bounce::Bounce(common::DaemonContext& context, const config::Config& config,
               std::unique_ptr<common::SpoolWriter> spool_writer)
    : log_(context.log), settings_(settings_of(config.bounce, config.mta, config.queue, texts_of(config.bounce, log_))),
      store_limits_(store_limits_of(config.spool)), spool_writer_(std::move(spool_writer)),
      submission_queue_(context.loop, log_, context.run_directory, context.identity, spool_writer_->reusable_files()),
      queue_manager_(context.loop, log_, context.run_directory + "/private/queue-manager", proto::report::conversation,
                     context.identity,
                     {[this](proto::report::Message&& message) {
                          if (auto* report = std::get_if<proto::report::Report>(&message))
                              on_request_part(std::move(*report));
                          else
                              queue_manager_.fail("unexpected message: only Report is accepted here");
                      },
                      {},
                      [this](const std::string&) { questions_.forget_all(); }}) {}

void Bounce::reconfigure(common::DaemonConfig daemon_config) {
    const auto& config = daemon_config.config;
    settings_ = settings_of(config.bounce, config.mta, config.queue, texts_of(config.bounce, log_));
    store_limits_ = store_limits_of(config.spool);
    spool_writer_->reconfigure(for_reports(config.spool));
}

void Bounce::stop(smtp::Duration, std::function<void()> done) {
    stopped_ = std::move(done);
    waiting_.clear(); // never answered: asked again of the next
    check_stopped();
}

void Bounce::check_stopped() {
    if (stopped_ && running_ == 0) std::exchange(stopped_, nullptr)();
}

void Bounce::on_request_part(proto::report::Report&& part) {
    auto question = questions_.add(std::move(part));
    if (!question) return; // more of it follows
    if (question->complete) return on_request(std::move(question->message));
    send_answer({.request = question->message.request,
                 .outcome = Outcome::try_later,
                 .text = fmt::format("reports that are being written have too many recipients (more than {} MiB)",
                                     proto::report::largest_questions >> 20)});
}

// While the connection is down it is asked again, and remembered.
void Bounce::send_answer(Reported reported) {
    reported.text.resize(std::min(reported.text.size(), proto::report::longest_text));
    static_cast<void>(queue_manager_.send(reported));
}

void Bounce::on_request(proto::report::Report&& report) {
    ReportKey question{report.queue_id, report.kind, {}};
    for (const auto& recipient : report.recipients) question.recipients.push_back(recipient.number);
    if (const auto before = answered_.find(question); before != answered_.end()) {
        before->second.request = report.request;
        return send_answer(before->second);
    }
    if (const auto same = active_.find(question); same != active_.end()) {
        same->second->report.request = report.request; // the answer goes to who asked last
        return;
    }
    auto work = std::make_shared<Work>();
    work->question = question;
    work->original.queue_id = report.queue_id;
    work->report = std::move(report);
    active_.emplace(std::move(question), work);
    waiting_.push_back(std::move(work));
    start_next();
}

void Bounce::start_next() {
    while (!stopped_ && running_ < max_active && !waiting_.empty()) {
        WorkPtr work = std::move(waiting_.front());
        waiting_.pop_front();
        ++running_;
        spool_writer_->pool().post([this, work, limit = settings_.full_content_limit] {
            work->answer.outcome = Outcome::not_wanted;
            work->original.content_complete = false;
            auto reader = spool::MessageReader::open(spool_writer_->disk(), work->report.queue_id,
                                                     file_of(work->report), spool::ReadLock::none);
            if (!reader) {
                work->why = spool::text_of(reader.error());
            } else {
                work->state = reader->state();
                const bool whole = reader->size() <= limit && needs_content(work->report, *work->state);
                auto content = whole ? reader->read_content() : reader->read_header(header_read_limit);
                // A report without the message is better than none.
                if (content) work->original = {work->report.queue_id, *std::move(content), whole};
            }
            spool_writer_->pool().complete([this, work] {
                if (work->state) work->addressees = addressees_of(work->report, *work->state);
                auto copies = postmaster_copies(settings_, work->report.kind, work->addressees);
                if (const auto before = reported_.remove_reported(work->report, work->addressees))
                    work->answer = *before;
                // They come last, and what is answered is what became of the senders'.
                work->addressees.insert(work->addressees.begin(), copies.begin(), copies.end());
                report_next(work);
            });
        });
    }
}

void Bounce::report_next(const WorkPtr& work) {
    if (!work->why.empty() || work->addressees.empty()) return answer(work);
    const Addressee addressee = std::move(work->addressees.back());
    work->addressees.pop_back();
    if (addressee.postmaster || !addressee.reverse_path.empty()) return write_report(work, addressee);
    // There is no sender to notify: only what failed permanently is worth keeping.
    if (work->report.kind == smtp::ReportKind::failed) return store_undeliverable(work, addressee);
    report_next(work);
}

void Bounce::store_undeliverable(const WorkPtr& work, const Addressee& addressee) {
    std::string why;
    for (const auto& r : addressee.recipients)
        why += fmt::format("{}<{}>: {} {}", why.empty() ? "" : "\n", work->state->recipients[r.number].address,
                           r.reason.status, r.reason.text);
    spool_writer_->pool().post([this, work, addressee, why = std::move(why), limits = store_limits_] {
        const auto copied =
            copy_to_bad(spool_writer_->disk(), work->report.queue_id, file_of(work->report), why, limits);
        CRASH_POINT("bounce.kept_in_bad");
        if (!copied) work->why = copied.error().what;
        const bool header = copied && *copied == CopiedPart::header;
        spool_writer_->pool().complete([this, work, addressee, header] {
            if (work->why.empty()) {
                log_.warning("{}: undeliverable, and it has no sender to notify: {}kept in bad/",
                             work->report.queue_id.text(), header ? "its header is " : "");
                if (work->answer.outcome != Outcome::submitted) work->answer.outcome = Outcome::kept_in_bad;
                reported_.add(work->report, addressee, work->answer);
            }
            report_next(work);
        });
    });
}

void Bounce::write_report(const WorkPtr& work, const Addressee& addressee) {
    const Clock clock = clock_now();
    const auto id = spool_writer_->admit(0, common::Loop::now());
    if (!id) {
        if (addressee.postmaster) return report_next(work); // the sender has been told: not again for the copy's sake
        work->why = id.error() == common::Unavailable::full ? "the spool is full" : "the spool cannot be written";
        return answer(work);
    }
    const Composition made = compose(settings_, work->report, addressee, *work->state, work->original, *id, clock);
    if (settings_.dry && work->report.kind != smtp::ReportKind::status)
        return store_unsent_report(work, addressee, *id, made);
    spool::MessageWriter writer = spool_writer_->write(*id, made.envelope);
    writer.append(made.content);
    CRASH_POINT("bounce.before_commit");
    spool_writer_->commit(writer, [this, work, addressee, message_id = made.envelope.message_id,
                                   envelope = writer.encoded_envelope()](Result<spool::DurableReceipt> receipt) {
        CRASH_POINT("bounce.durable");
        written(work, receipt, addressee, message_id, envelope);
    });
}

// bounce.withhold_reports.
void Bounce::store_unsent_report(const WorkPtr& work, const Addressee& addressee, spool::QueueId id,
                                 const Composition& made) {
    const auto why = fmt::format("bounce.withhold_reports: {} of {} to <{}>, not sent", report_name(work->report.kind),
                                 work->report.queue_id.text(), made.envelope.recipients.front().address);
    spool_writer_->pool().post([this, work, addressee, id, why, content = made.content] {
        const auto kept = store_report(spool_writer_->disk(), id, content, why);
        if (!kept) work->why = kept.error().what;
        spool_writer_->pool().complete([this, work, addressee, id] {
            if (work->why.empty()) {
                log_.warning("{}: {}: kept in bad/{}.eml and not sent (bounce.withhold_reports)",
                             work->report.queue_id.text(), report_name(work->report.kind), id.text());
                work->answer.outcome = Outcome::kept_in_bad;
                if (!addressee.postmaster) reported_.add(work->report, addressee, work->answer);
            }
            report_next(work);
        });
    });
}

void Bounce::written(const WorkPtr& work, const Result<spool::DurableReceipt>& receipt, const Addressee& addressee,
                     const std::string& message_id, const std::string& envelope) {
    if (!receipt && addressee.postmaster) { // the sender has been told: that is not done again for the copy's sake
        log_.warning("{}: no copy for the postmaster: {}", work->report.queue_id.text(), receipt.error().what);
        return report_next(work);
    }
    if (!receipt) {
        work->why = receipt.error().what;
        return answer(work);
    }
    const std::string parent = work->report.queue_id.text(), id = receipt->queue_id().text();
    log_.context("cleanup").info("{}: message-id={}", id, message_id);
    log_.info("{}: {}: {}", parent, addressee.postmaster ? "postmaster notification" : report_name(work->report.kind),
              id);
    submission_queue_.submit(*receipt, envelope);
    if (!addressee.postmaster) {
        work->answer.outcome = Outcome::submitted;
        work->answer.report_id = receipt->queue_id();
        reported_.add(work->report, addressee, work->answer);
    }
    report_next(work);
}

void Bounce::answer(const WorkPtr& work) {
    Reported& reported = work->answer;
    if (!work->why.empty()) {
        reported.outcome = Outcome::try_later;
        reported.text = work->why;
    }
    reported.request = work->report.request;
    CRASH_POINT("bounce.before_reported");
    send_answer(reported);
    active_.erase(work->question);
    if (reported.outcome != Outcome::try_later) {
        reported_.forget(work->report);
        answered_[work->question] = reported;
        answered_order_.push_back(work->question);
        remembered_numbers_ += work->question.recipients.size();
        while (answered_order_.size() > max_answers ||
               (remembered_numbers_ > max_numbers && answered_order_.size() > 1)) {
            remembered_numbers_ -= answered_order_.front().recipients.size();
            answered_.erase(answered_order_.front());
            answered_order_.pop_front();
        }
    }
    --running_;
    start_next();
    check_stopped();
}

} // namespace bounce
