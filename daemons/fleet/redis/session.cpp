#include "daemons/fleet/redis/session.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <fmt/format.h>

namespace fleet::redis {

namespace {

constexpr std::size_t longest_error = 200;

// "run_id:3f0d…\r\n" in the reply to INFO.
std::string value_in(std::string_view info, std::string_view name) {
    constexpr std::size_t longest_value = 64;
    while (!info.empty()) {
        auto line = info.substr(0, info.find('\n'));
        info.remove_prefix(std::min(line.size() + 1, info.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':')
            return smtp::printable(line.substr(name.size() + 1), longest_value);
    }
    return {};
}

} // namespace

Session::Session(const Login& login, smtp::Monotonic deadline) : password_(login.password.copy()) {
    log_in(login, deadline);
}

void Session::log_in(const Login& login, smtp::Monotonic deadline) {
    const std::string password(login.password.reveal());
    if (!password.empty()) {
        Command auth{"AUTH"};
        if (!login.user.empty()) auth.push_back(login.user);
        auth.push_back(password);
        send(auth, deadline, [this](const Result& result) {
            if (!result && result.error().kind == CallError::Kind::refused) return login_refused(result.error());
            login_step(result, "login");
        });
    }
    if (login.database != 0)
        send({"SELECT", fmt::format("{}", login.database)}, deadline,
             [this](const Result& result) { login_step(result, "choice of the database"); });
    // Some users may not ask: then it is not known when the store was started.
    send({"INFO", "server", "memory"}, deadline, [this](const Result& result) {
        if (!result && result.error().kind == CallError::Kind::failed) return login_step(result, "login");
        if (result && result->is_text()) note_server(without_password(result->text));
        const bool needs_login = !result && result.error().code == "NOAUTH";
        if (needs_login) return login_step(result, "login");
        if (result && result->is_text() && value_in(result->text, "redis_mode") == "cluster" && problem_.empty())
            problem_ = "it is a Redis Cluster, which cannot be used: name a single server";
        ready_ = problem_.empty();
    });
}

// A store that does not know AUTH repeats its arguments, also in part: only texts that are known to be harmless are
// shown.
void Session::login_refused(const CallError& error) {
    const auto& code = error.code;
    const bool known = code == "WRONGPASS" || code == "NOAUTH" || code == "NOPERM";
    if (problem_.empty())
        problem_ = known ? "login: " + error.text : "login: the store refuses it: is AUTH disabled or renamed there?";
}

std::string Session::without_password(std::string text) const {
    constexpr std::size_t shortest = 4; // what is shorter occurs in words
    const auto password = password_.reveal();
    if (password.size() < shortest) return text;
    for (auto at = text.find(password); at != text.npos; at = text.find(password, at))
        text.replace(at, password.size(), "***");
    return text;
}

void Session::note_server(const std::string& info) {
    run_id_ = value_in(info, "run_id");
    version_ = value_in(info, "redis_version");
    const auto limit = value_in(info, "maxmemory"), policy = value_in(info, "maxmemory_policy");
    if (!limit.empty() && limit != "0" && policy != "noeviction") eviction_policy_ = policy;
}

void Session::login_step(const Result& result, std::string_view step) {
    if (!result && problem_.empty()) problem_ = fmt::format("{}: {}", step, result.error().text);
}

void Session::call(const Command& command, smtp::Monotonic deadline, Done done) {
    send(command, deadline, std::move(done));
}

void Session::run(const Script& script, const Command& keys, const Command& arguments, smtp::Monotonic deadline,
                  Done done) {
    const auto build = [&](const char* verb, const std::string& what) {
        Command command{verb, what, fmt::format("{}", keys.size())};
        command.insert(command.end(), keys.begin(), keys.end());
        command.insert(command.end(), arguments.begin(), arguments.end());
        return command;
    };
    send(build("EVALSHA", script.digest()), deadline, std::move(done), build("EVAL", script.text()));
}

void Session::send(const Command& command, smtp::Monotonic deadline, Done done, Command by_text) {
    if (!problem_.empty() || waiting_.size() >= most_calls)
        return done(std::unexpected(
            CallError{CallError::Kind::failed, problem_.empty() ? "too many calls wait for the store" : problem_}));
    output_ += bytes_of(command);
    waiting_.push_back({std::move(done), deadline, std::move(by_text)});
}

void Session::receive(std::string_view bytes) {
    reader_.feed(bytes);
    while (problem_.empty()) {
        auto reply = reader_.next();
        if (!reply) return close(without_password(reply.error()));
        if (!*reply) return;
        if (waiting_.empty()) return close("a reply that nothing was asked for");
        take(**std::move(reply));
    }
}

void Session::take(Reply reply) {
    auto asked = std::move(waiting_.front());
    waiting_.pop_front();
    if (!asked.done) return;
    if (!reply.is_error()) return asked.done(std::move(reply));
    reply.text = without_password(std::move(reply.text));
    const auto code = reply.text.substr(0, reply.text.find(' '));
    if (!asked.by_text.empty() && code == "NOSCRIPT") return send(asked.by_text, asked.deadline, std::move(asked.done));
    asked.done(std::unexpected(CallError{CallError::Kind::refused, smtp::printable(reply.text, longest_error), code}));
}

void Session::expire(smtp::Monotonic now) {
    std::vector<Done> late;
    for (auto& each : waiting_)
        if (each.done && each.deadline <= now) late.push_back(std::exchange(each.done, {}));
    for (const auto& done : late) done(std::unexpected(CallError{CallError::Kind::failed, "no reply in time"}));
}

std::optional<smtp::Monotonic> Session::next_deadline() const {
    std::optional<smtp::Monotonic> out;
    for (const auto& each : waiting_)
        if (each.done && (!out || each.deadline < *out)) out = each.deadline;
    return out;
}

void Session::close(const std::string& why) {
    if (problem_.empty()) problem_ = why;
    ready_ = false;
    auto all = std::exchange(waiting_, {});
    for (const auto& each : all)
        if (each.done) each.done(std::unexpected(CallError{CallError::Kind::failed, why}));
}

} // namespace fleet::redis
