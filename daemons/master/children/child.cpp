#include "daemons/master/children/child.h"
#include "daemons/common/runtime/read_file.h"
#include <algorithm>
#include <csignal>
#include <cstring>
#include <sys/wait.h>

namespace master {

namespace supervision = proto::supervision;
using common::Loop;

Child::Child(common::Loop& loop, common::Log& log, Supervisor& supervisor, common::PlannedProcess plan)
    : loop_(loop), log_(log), supervisor_(supervisor), plan_(std::move(plan)), restart_(loop, [this] { start(); }) {}

std::string_view Child::state_name() const {
    constexpr std::string_view names[] = {"waiting", "starting", "running", "stopping", "ended"};
    return names[static_cast<std::size_t>(state_)];
}

void Child::enter(State state) {
    state_ = state;
    const auto now = Loop::now();
    since_ = now.wall;
    entered_ = now.monotonic;
}

void Child::start() {
    generation_ = 0;
    unanswered_ = 0;
    killed_ = hung_ = reported_problem_ = false;
    auto spawned = spawn(supervisor_.program_of(*this));
    if (!spawned) {
        problem_ = spawned.error().what;
        log_.error("cannot start {}: {}", name(), problem_);
        enter(State::waiting);
        restart_.start(backoff_.died({}, supervisor_.rules().restart_delay, supervisor_.rules().restart_delay_limit));
        supervisor_.problem_changed(*this);
        return;
    }
    pid_ = spawned->pid;
    link_ = std::make_unique<common::MasterLink>(
        loop_, std::move(spawned->link),
        common::MasterLink::Callbacks{
            [this](supervision::Message&& message, std::vector<common::Fd>) { take(std::move(message)); },
            [](const std::string&) {}}); // SIGCHLD reports its end
    enter(State::starting);
    supervisor_.send_orders(*this, *link_);
}

void Child::resend_orders() {
    if (link_ && (state_ == State::starting || state_ == State::ready)) supervisor_.send_orders(*this, *link_);
}

void Child::take(supervision::Message&& message) {
    unanswered_ = 0;
    if (auto* ready = std::get_if<supervision::Ready>(&message)) {
        generation_ = ready->generation;
        confinement_ = ready->confinement;
        if (state_ == State::starting) {
            enter(State::ready);
            if (!reported_problem_) problem_.clear(); // of the previous process; one of this process stays
        }
        return supervisor_.ready(*this);
    }
    if (auto* wanted = std::get_if<supervision::AccessTokenWanted>(&message))
        return supervisor_.token_wanted(*this, *wanted);
    if (auto* wanted = std::get_if<supervision::SinkWanted>(&message)) return supervisor_.sink_wanted(*this, *wanted);
    if (auto* pong = std::get_if<supervision::Pong>(&message)) {
        status_text_ = std::move(pong->status);
        return supervisor_.answered(*this);
    }
    if (auto* trouble = std::get_if<supervision::Problem>(&message)) {
        reported_problem_ = true;
        if (trouble->text == problem_) return;
        problem_ = trouble->text;
        supervisor_.problem_changed(*this);
    }
}

void Child::answer(const supervision::AccessToken& token, int file) {
    if (!link_ || !alive()) return;
    link_->send(token, file >= 0 ? std::vector{file} : std::vector<int>{});
}

void Child::answer(const supervision::Sink& sink, const std::vector<int>& pipes) {
    if (link_ && alive()) link_->send(sink, pipes);
}

// It runs or sleeps while others answer: what it is working on may be what hangs it. Not so while it is stopped or
// traced, while the kernel blocks it (a disk that does not answer), nor if the whole machine is slow.
bool Child::is_hung() const {
    const auto stat = common::read_file(fmt::format("/proc/{}/stat", pid_));
    if (!stat) return false;
    const auto name_ends = stat->rfind(") ");
    const char state = name_ends == stat->npos ? '?' : (*stat)[std::min(name_ends + 2, stat->size() - 1)];
    return (state == 'R' || state == 'S') && supervisor_.other_roles_answer(*this);
}

// Counted in questions, not in time: a machine that was suspended has not been silent.
void Child::heartbeat() {
    if (!alive() || killed_) return;
    const auto& rules = supervisor_.rules();
    if (unanswered_ * rules.heartbeat_interval >= rules.heartbeat_timeout) {
        log_.error("{} (pid {}) has not answered for {} s: killed", name(), pid_,
                   std::chrono::duration_cast<std::chrono::seconds>(unanswered_ * rules.heartbeat_interval).count());
        hung_ = is_hung();
        return kill();
    }
    ++unanswered_;
    link_->send(supervision::Ping{++pings_});
}

void Child::stop(smtp::Duration within) {
    restart_.stop();
    if (!alive()) return enter(State::ended);
    enter(State::stopping);
    link_->send(supervision::Stop{static_cast<std::uint64_t>(within.count())});
}

void Child::kill() {
    if (!alive()) return;
    killed_ = true;
    ::kill(pid_, SIGKILL);
}

void Child::tell(const supervision::ProcessEnded& died) {
    if (link_ && alive()) link_->send(died);
}

// Logs how it ended, unless it was told to end; true if it crashed.
bool Child::explain_end(int status) {
    const bool by_signal = WIFSIGNALED(status);
    const int number = by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
    if (killed_) return hung_;
    if (by_signal) {
        const bool no_memory = number == SIGKILL && supervisor_.out_of_memory();
        log_.warning("{} (pid {}) was ended by signal {} ({}){}", name(), pid_, number, strsignal(number),
                     no_memory ? ": the kernel was out of memory" : "");
        return no_memory || (number != SIGKILL && number != SIGTERM);
    }
    if (number == 0 && state_ == State::stopping) return false;
    if (number == 127)
        log_.error("{} could not be started", name());
    else
        log_.warning("{} (pid {}) ended with status {}{}{}", name(), pid_, number, problem_.empty() ? "" : ": ",
                     problem_);
    return number != 0 && state_ == State::ready;
}

void Child::has_ended(int status) {
    const bool crashed = explain_end(status);
    const auto served = state_ == State::ready ? Loop::now().monotonic - entered_ : smtp::Duration::zero();
    const bool wanted = state_ != State::stopping;
    link_.reset();
    status_text_.clear();
    pid_ = 0;
    generation_ = 0;
    if (!wanted) {
        enter(State::ended);
        return supervisor_.ended(*this, crashed);
    }
    const auto& rules = supervisor_.rules();
    const auto wait = backoff_.died(served, rules.restart_delay, rules.restart_delay_limit);
    ++restarts_;
    enter(State::waiting);
    restart_.start(wait);
    if (wait > rules.restart_delay)
        log_.warning("{} will be restarted in {} ms", name(),
                     std::chrono::duration_cast<std::chrono::milliseconds>(wait).count());
    supervisor_.ended(*this, crashed);
}

} // namespace master
