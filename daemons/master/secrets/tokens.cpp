#include "daemons/master/secrets/tokens.h"
#include <algorithm>
#include <fmt/format.h>

namespace master {

std::expected<PrintedToken, smtp::Malformed> PrintedToken::parse(std::string_view output) {
    const auto line = [&output] {
        auto text = output.substr(0, output.find('\n'));
        output.remove_prefix(std::min(text.size() + 1, output.size()));
        if (text.ends_with('\r')) text.remove_suffix(1);
        return text;
    };
    PrintedToken out;
    const auto token = line(), seconds = line();
    if (token.empty()) return std::unexpected(smtp::Malformed{"it prints nothing"});
    if (token.size() > longest)
        return std::unexpected(smtp::Malformed{fmt::format("its token is longer than {} bytes", longest)});
    if (!std::ranges::all_of(token, [](char c) { return smtp::is_printable(c) && c != ' '; }))
        return std::unexpected(smtp::Malformed{"its first line is no token"});
    if (!seconds.empty()) {
        const auto number = smtp::parse_number(seconds);
        if (!number) return std::unexpected(smtp::Malformed{"its second line is no number of seconds"});
        out.good_for =
            std::min(most, smtp::Duration(std::chrono::seconds(std::min<std::uint64_t>(*number, 1'000'000))));
    }
    out.text = smtp::Secret(std::string(token));
    return out;
}

Tokens::Tokens(common::Loop& loop, common::Log& log, const common::Identity* user)
    : loop_(loop), log_(log), user_(user), sweep_(loop, [this] { done_.clear(); }) {}

void Tokens::use(auth::Credentials accounts) {
    accounts_ = std::move(accounts);
    for (auto each = kept_.begin(); each != kept_.end();) {
        const auto* account = accounts_.named(each->first);
        each->second.problem.clear();
        if (account && account->command == each->second.command) {
            ++each;
            continue;
        }
        tell(each->second, {.problem = "its account has changed"});
        if (each->second.running) {
            each->second.running->abandon();
            abandoned_.push_back(std::move(each->second.running));
        }
        each = kept_.erase(each);
    }
}

void Tokens::ask(const std::string& name, std::uint64_t refused, smtp::Monotonic now, Told told) {
    const auto* account = accounts_.named(name);
    if (!account || account->command.empty())
        return told({.problem = "there is no command for that account (any more)"});
    auto& kept = kept_[name];
    kept.command = account->command;
    if (kept.number != 0 && (kept.number == refused || kept.until <= now)) {
        kept.number = 0;
        kept.text.wipe();
    }
    if (kept.number != 0) return told({.number = kept.number, .text = kept.text.reveal()});
    if (!kept.problem.empty() && kept.problem_until > now) return told({.problem = kept.problem});
    if (!kept.running && running().size() >= most_running)
        return told({.problem = fmt::format("{} other commands for tokens are running", most_running)});
    kept.waiting.push_back(std::move(told));
    if (!kept.running) run(name, kept);
}

void Tokens::run(const std::string& account, Kept& kept) {
    auto command = CommandOutput::run(loop_, kept.command, user_,
                                      [this, account](smtp::Secret output, const std::string& problem) {
                                          printed(account, std::move(output), problem);
                                      });
    if (!command) return tell(kept, {.problem = command.error().what});
    kept.running = *std::move(command);
}

void Tokens::printed(const std::string& account, smtp::Secret output, const std::string& problem) {
    auto& kept = kept_.at(account); // it goes before its entry does
    done_.push_back(std::move(kept.running));
    sweep_.schedule();
    auto token = PrintedToken::parse(output.reveal());
    const auto now = common::Loop::now().monotonic;
    if (!problem.empty() || !token) {
        kept.problem = problem.empty() ? token.error().why : problem;
        kept.problem_until = now + failure_holds;
        log_.warning("no token for {}: its command: {}", account, kept.problem);
        return tell(kept, {.problem = kept.problem});
    }
    kept.problem.clear();
    kept.text = std::move(token->text);
    kept.number = ++numbers_;
    kept.until = now + token->good_for;
    log_.info("new token for {}, good for {} s", account, token->good_for / std::chrono::seconds(1));
    tell(kept, {.number = kept.number, .fresh = true, .text = kept.text.reveal()});
}

void Tokens::tell(Kept& kept, const Answer& answer) {
    for (const auto& told : std::exchange(kept.waiting, {})) told(answer);
}

std::vector<pid_t> Tokens::running() const {
    std::vector<pid_t> out;
    for (const auto& [account, kept] : kept_)
        if (kept.running) out.push_back(kept.running->pid());
    for (const auto& each : abandoned_) out.push_back(each->pid());
    return out;
}

void Tokens::has_ended(pid_t pid, int status) {
    for (auto& [account, kept] : kept_)
        if (kept.running && kept.running->pid() == pid) return kept.running->has_ended(status);
    std::erase_if(abandoned_, [&](const auto& each) {
        if (each->pid() != pid) return false;
        each->has_ended(status);
        return true;
    });
}

} // namespace master
