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
    if (token.empty()) return std::unexpected(smtp::Malformed{"it printed nothing"});
    if (token.size() > longest)
        return std::unexpected(smtp::Malformed{fmt::format("its token is longer than {} bytes", longest)});
    if (!std::ranges::all_of(token, [](char c) { return smtp::is_printable(c) && c != ' '; }))
        return std::unexpected(smtp::Malformed{"its first line is not a token"});
    if (!seconds.empty()) {
        const auto number = smtp::parse_number(seconds);
        if (!number) return std::unexpected(smtp::Malformed{"its second line is not a number of seconds"});
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
    for (auto each = tokens_.begin(); each != tokens_.end();) {
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
        each = tokens_.erase(each);
    }
}

void Tokens::ask(const std::string& name, std::uint64_t refused, smtp::Monotonic now, Answered answered) {
    const auto* account = accounts_.named(name);
    if (!account || account->command.empty()) return answered({.problem = "there is no command for that account"});
    auto& token = tokens_[name];
    token.command = account->command;
    if (token.number != 0 && (token.number == refused || token.until <= now)) {
        token.number = 0;
        token.text.wipe();
    }
    if (token.number != 0) return answered({.number = token.number, .text = token.text.reveal()});
    if (!token.problem.empty() && token.problem_until > now) return answered({.problem = token.problem});
    if (!token.running && running().size() >= max_running)
        return answered({.problem = fmt::format("{} other commands for tokens are running", max_running)});
    token.waiting.push_back(std::move(answered));
    if (!token.running) run(name, token);
}

void Tokens::run(const std::string& account, AccountToken& token) {
    auto command = CommandOutput::run(loop_, token.command, user_,
                                      [this, account](smtp::Secret output, const std::string& problem) {
                                          printed(account, std::move(output), problem);
                                      });
    if (!command) return tell(token, {.problem = command.error().what});
    token.running = *std::move(command);
}

void Tokens::printed(const std::string& account, smtp::Secret output, const std::string& problem) {
    auto& known = tokens_.at(account); // moved out before its entry goes
    done_.push_back(std::move(known.running));
    sweep_.schedule();
    auto token = PrintedToken::parse(output.reveal());
    const auto now = common::Loop::now().monotonic;
    if (!problem.empty() || !token) {
        known.problem = problem.empty() ? token.error().why : problem;
        known.problem_until = now + failure_lifetime;
        log_.warning("no token for {}: its command: {}", account, known.problem);
        return tell(known, {.problem = known.problem});
    }
    known.problem.clear();
    known.text = std::move(token->text);
    known.number = ++numbers_;
    known.until = now + token->good_for;
    log_.info("new token for {}, valid for {} s", account, token->good_for / std::chrono::seconds(1));
    tell(known, {.number = known.number, .fresh = true, .text = known.text.reveal()});
}

void Tokens::tell(AccountToken& token, const Answer& answer) {
    for (const auto& answered : std::exchange(token.waiting, {})) answered(answer);
}

std::vector<pid_t> Tokens::running() const {
    std::vector<pid_t> out;
    for (const auto& [account, token] : tokens_)
        if (token.running) out.push_back(token.running->pid());
    for (const auto& each : abandoned_) out.push_back(each->pid());
    return out;
}

void Tokens::has_ended(pid_t pid, int status) {
    for (auto& [account, token] : tokens_)
        if (token.running && token.running->pid() == pid) return token.running->has_ended(status);
    std::erase_if(abandoned_, [&](const auto& each) {
        if (each->pid() != pid) return false;
        each->has_ended(status);
        return true;
    });
}

} // namespace master
