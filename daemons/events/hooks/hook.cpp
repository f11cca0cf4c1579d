#include "daemons/events/hooks/hook.h"
#include "daemons/common/runtime/random.h"
#include "libsmtp/text/date.h"
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace events {

using namespace std::chrono_literals;
using decide::hooks::DeliveryReport;
using decide::hooks::HookDelivery;
using decide::hooks::HookProgress;
using decide::hooks::HookState;

namespace {

// What was only read and not selected is noted now and then: after a kill it is read again.
constexpr smtp::Duration save_interval = 10s, files_retry_interval = 30s;
constexpr std::size_t most_dead_letters = 8; // not written yet; nothing is sent meanwhile
constexpr std::size_t command_batch = 100;
// An endpoint that failed once may only have been restarted.
constexpr unsigned failures_of_a_problem = 2;

double random_part() {
    std::uint32_t bits = 0;
    std::memcpy(&bits, common::random_bytes(sizeof bits).data(), sizeof bits);
    return bits / 4294967296.0;
}

decide::hooks::DeliverySettings delivery_settings(const config::Hook& hook) {
    const std::size_t usual = hook.command.empty() ? 1 : command_batch;
    return {hook.batch == 0 ? usual : hook.batch, hook.retry};
}

std::string now_text() { return smtp::rfc3339_date(common::Loop::now().wall); }

} // namespace

Hook::Hook(common::Loop& loop, common::Log& log, Setup setup)
    : log_(log), setup_(std::move(setup)), files_work_(loop),
      retry_(loop, [this] { stopped_ ? finish_stop() : proceed(); }),
      files_retry_(loop, [this] { loaded() ? proceed() : load(); }) {
    published_ = setup_.published;
    load();
}

void Hook::load() {
    auto result = std::make_shared<spool::Result<LoadedProgress>>();
    files_work_.start([files = setup_.files, result] { *result = files->load(); },
                      [this, result] { take_loaded(std::move(*result)); });
}

void Hook::take_loaded(spool::Result<LoadedProgress> loaded) {
    if (stopped_) return finish_stop();
    if (!loaded) return files_failed(loaded.error());
    files_work();
    HookProgress progress;
    progress.next = published_ + 1;
    if (loaded->progress) {
        progress = *loaded->progress;
    } else if (loaded->damaged) {
        progress.state = HookState::paused;
        progress.reason = fmt::format("cursors/{0} is damaged: \"postrider hook replay {0} --start-at NUMBER\" says "
                                      "where to continue",
                                      setup_.settings.name);
    }
    ever_saved_ = loaded->progress.has_value();
    saved_ = progress;
    saved_at_ = common::Loop::now().monotonic;
    delivery_ = std::make_unique<HookDelivery>(delivery_settings(setup_.settings), std::move(progress));
    use(std::move(setup_));
}

void Hook::use(Setup setup) {
    setup_ = std::move(setup);
    if (!loaded()) return;
    interrupt();
    endpoint_.reset();
    delivery_->use(delivery_settings(setup_.settings));
    delivery_->read_again();
    ++generation_;
    endpoint_ = setup_.make_endpoint({[this](const auto& answer) { answered(answer); },
                                      [this](std::uint64_t number) { return acknowledged(number); }});
    update_problem();
    proceed();
}

void Hook::published(std::uint64_t number) {
    const bool news = std::exchange(published_, number) != number;
    if (!news && (!loaded() || delivery_->read_from() > number)) return;
    proceed();
}

void Hook::stop(smtp::Duration grace, std::function<void()> done) {
    stopped_ = std::move(done);
    files_retry_.stop();
    retry_.stop();
    if (loaded() && delivery_->in_flight() > 0 && grace > 0s) retry_.start(grace);
    finish_stop();
}

// When there is no answer to wait for, and everything is written.
void Hook::finish_stop() {
    if (ended_ || (loaded() && delivery_->in_flight() > 0 && retry_.armed())) return;
    retry_.stop();
    if (loaded()) interrupt();
    if (files_work_.busy() || write_dead_letter() || save()) return;
    ended_ = true;
    stopped_();
}

bool Hook::is_working() const {
    if (!loaded() || !files_problem_.empty()) return false;
    const auto& progress = delivery_->progress();
    return progress.state == HookState::delivering && progress.failures == 0 && progress.refusals == 0;
}

std::uint64_t Hook::behind() const {
    if (!loaded() || published_ < delivery_->progress().next) return 0;
    return published_ + 1 - delivery_->progress().next;
}

smtp::Duration Hook::wait(smtp::Monotonic now) const {
    const auto at = loaded() ? delivery_->retry_at() : std::nullopt;
    return at && *at > now ? *at - now : smtp::Duration{};
}

void Hook::proceed() {
    if (stopped_ || !loaded()) return;
    send();
    if (!files_work_.busy() && !files_retry_.armed()) work_on_files();
}

// What is given up is written before the cursor moves past it; reading and the cursor take turns.
void Hook::work_on_files() {
    if (write_dead_letter()) return;
    const bool reads = !read_last_ && read();
    read_last_ = reads;
    if (reads || save()) return;
    read_last_ = read();
}

bool Hook::write_dead_letter() {
    if (dead_letters_.empty()) return false;
    auto result = std::make_shared<spool::Result<>>();
    files_work_.start([files = setup_.files, letter = dead_letters_.front(), result] { *result = files->add(letter); },
                      [this, result] {
                          if (!*result) return files_failed(result->error());
                          files_work();
                          dead_letters_.pop_front();
                          if (stopped_) return finish_stop();
                          proceed();
                      });
    return true;
}

bool Hook::save() {
    if (!loaded() || !dead_letters_.empty()) return false;
    const auto& progress = delivery_->progress();
    if (ever_saved_ && progress == saved_) return false;
    auto only_read = saved_;
    only_read.next = progress.next;
    const auto now = common::Loop::now().monotonic;
    const bool may_wait = ever_saved_ && progress == only_read && delivery_->events().empty() && !accepted_;
    if (may_wait && !stopped_ && now - saved_at_ < save_interval) return false;
    accepted_ = false;
    auto result = std::make_shared<spool::Result<>>();
    files_work_.start([files = setup_.files, progress, result] { *result = files->save(progress); },
                      [this, result, progress, now] {
                          if (!*result) return files_failed(result->error());
                          files_work();
                          saved_ = progress;
                          saved_at_ = now;
                          ever_saved_ = true;
                          if (stopped_) return finish_stop();
                          proceed();
                      });
    return true;
}

bool Hook::read() {
    if (stopped_ || !delivery_->has_room() || delivery_->read_from() > published_) return false;
    if (delivery_->progress().state != HookState::delivering && !delivery_->events().empty()) return false;
    auto result = std::make_shared<spool::Result<ReadEvents>>();
    files_work_.start([files = setup_.files, from = delivery_->read_from(), through = published_, time = now_text(),
                       result] { *result = files->read(from, through, time); },
                      [this, result, generation = generation_] { take_read(std::move(*result), generation); });
    return true;
}

void Hook::take_read(spool::Result<ReadEvents> read, std::uint64_t generation) {
    if (stopped_) return finish_stop();
    if (!read) return files_failed(read.error());
    files_work();
    if (generation != generation_) return proceed();
    for (const auto& damage : read->damage)
        log_.error("{}: journal {} at byte {}: {}", log_name(), damage.file, damage.offset, damage.why);
    if (read->gap > 0) log_.error("{}: {} events are missing: hook.gap is sent instead", log_name(), read->gap);
    for (auto& event : read->events) delivery_->add(std::move(event));
    if (read->through > 0) delivery_->read_through(read->through);
    update_problem();
    // Nothing although something is published: a segment is being replaced. Published numbers come again.
    if (read->through == 0) return send();
    proceed();
}

void Hook::send() {
    if (dead_letters_.size() >= most_dead_letters || !files_problem_.empty()) return;
    const auto now = common::Loop::now().monotonic;
    if (const auto count = delivery_->begin(now); count > 0) return endpoint_->send(delivery_->events(), count);
    if (delivery_->in_flight() > 0 || delivery_->progress().state != HookState::delivering) return retry_.stop();
    if (const auto at = delivery_->retry_at(); at && *at > now) retry_.start(*at - now + 1ms);
}

void Hook::answered(const decide::hooks::EndpointAnswer& answer) {
    const auto count = delivery_->in_flight();
    last_answer_ = text_of(answer);
    auto report = delivery_->finish(answer, common::Loop::now(), random_part());
    const bool delivered = verdict_of(answer) == decide::hooks::Verdict::accepted;
    (delivered ? counts_.pushed : counts_.failed) += delivered ? count : 1;
    accepted_ = accepted_ || delivered;
    log_answer(report);
    if (report.given_up) {
        const auto reason = fmt::format("refused {} times: {}", HookDelivery::most_refusals, last_answer_);
        give_up(*std::move(report.given_up), reason);
    }
    update_problem();
    stopped_ ? finish_stop() : proceed();
}

bool Hook::acknowledged(std::uint64_t number) {
    const auto before = delivery_->in_flight();
    if (!delivery_->acknowledge(number)) return false;
    counts_.pushed += before - delivery_->in_flight();
    accepted_ = true;
    update_problem();
    stopped_ ? finish_stop() : proceed();
    return true;
}

void Hook::log_answer(const DeliveryReport& report) {
    using Change = DeliveryReport::Change;
    const auto& progress = delivery_->progress();
    switch (report.change) {
    case Change::recovered: return log_.info("{}: accepts events again", log_name());
    case Change::paused: return log_.error("{}: paused: {}", log_name(), progress.reason);
    case Change::switched_off: return log_.error("{}: switched off: {}", log_name(), progress.reason);
    case Change::delivered: return;
    case Change::failing:
    case Change::none: break;
    }
    const auto now = common::Loop::now().monotonic;
    if (const auto pause = wait(now); pause > smtp::Duration{})
        log_.warning("{}: event {} not accepted: {}; next attempt in {} s", log_name(), progress.next, last_answer_,
                     std::chrono::ceil<std::chrono::seconds>(pause).count());
}

void Hook::give_up(decide::hooks::HookEvent event, std::string reason) {
    log_.warning("{}: event {} moved to dead/{}: {}", log_name(), event.number, dead_file(setup_.settings.name),
                 reason);
    ++counts_.dead;
    dead_letters_.push_back({std::move(event), std::move(reason), now_text()});
}

// The request under way is sent again, or not, as what follows decides.
void Hook::interrupt() {
    if (endpoint_) endpoint_->cancel();
    delivery_->abandon();
}

void Hook::pause(const std::string& who) {
    delivery_->pause("by " + who);
    log_.info("{}: paused by {}", log_name(), who);
    update_problem();
    proceed();
}

void Hook::resume(const std::string& who) {
    delivery_->resume();
    log_.info("{}: resumed by {}", log_name(), who);
    update_problem();
    proceed();
}

std::optional<std::uint64_t> Hook::skip(const std::string& who) {
    interrupt();
    auto event = delivery_->skip();
    if (!event) return {};
    const auto number = event->number;
    give_up(*std::move(event), "skipped by " + who);
    proceed();
    return number;
}

void Hook::restart_at(std::uint64_t number, const std::string& who) {
    interrupt();
    delivery_->restart_at(number);
    ++generation_;
    log_.info("{}: continues with event {}, by {}", log_name(), number, who);
    update_problem();
    proceed();
}

void Hook::files_failed(const spool::Error& error) {
    if (stopped_) {
        if (!std::exchange(ended_, true)) stopped_();
        return;
    }
    if (files_problem_ != error.what) log_.error("{}: {}", log_name(), error.what);
    files_problem_ = error.what;
    update_problem();
    files_retry_.start(files_retry_interval);
}

void Hook::files_work() {
    if (std::exchange(files_problem_, {}).empty()) return;
    log_.info("{}: its files can be read and written again", log_name());
    update_problem();
}

void Hook::update_problem() {
    std::string text = files_problem_;
    if (text.empty() && loaded()) {
        const auto& progress = delivery_->progress();
        const auto& name = setup_.settings.name;
        if (progress.state == HookState::switched_off)
            text = fmt::format("switched off: {}; \"postrider hook resume {}\" switches it on", progress.reason, name);
        else if (progress.state == HookState::paused)
            text = fmt::format("paused: {}; \"postrider hook resume {}\" continues", progress.reason, name);
        else if (progress.failures >= failures_of_a_problem)
            text = fmt::format("does not accept events since {}: {}",
                               smtp::rfc3339_date(smtp::WallTime(std::chrono::seconds(progress.failing_since))),
                               last_answer_.empty() ? "not tried again yet" : last_answer_);
    }
    if (text == problem_) return;
    problem_ = text;
    setup_.report_problem(text.empty() ? text : log_name() + ": " + text);
}

} // namespace events
