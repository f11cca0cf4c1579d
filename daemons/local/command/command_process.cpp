// The process's side of command.h: from the daemon's program to the user's.
#include "daemons/local/command/command.h"
#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char** environ;

namespace local {
namespace command {
namespace {

using spool::Error;
using spool::Result;

constexpr std::string_view plain_characters =
    "1234567890!@%-_=+:,./abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

bool is_plain(char c) {
    return plain_characters.find(c) != plain_characters.npos || static_cast<unsigned char>(c) >= 0x80;
}

std::string harmless(std::string_view value) {
    std::string out(value.substr(0, 1024));
    std::ranges::replace_if(out, [](char c) { return !is_plain(c); }, '_');
    return out;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> out;
    for (auto& word : words) out.push_back(word.data());
    out.push_back(nullptr);
    return out;
}

// What a daemon has changed and a program may rely on.
void restore_defaults() {
    for (const int each : {SIGPIPE, SIGXFSZ, SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM}) signal(each, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    rlimit files{}, core{0, 0};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = std::min<rlim_t>(files.rlim_max, 1024);
        setrlimit(RLIMIT_NOFILE, &files);
    }
    setrlimit(RLIMIT_CORE, &core);
    umask(077);
}

// Only plain words need no shell; one that is no program may be a word of the shell's.
void become_program(const std::string& text) {
    const bool plain = std::ranges::all_of(text, [](char c) { return is_plain(c) || c == ' ' || c == '\t'; });
    if (plain) {
        std::vector<std::string> words;
        for (std::size_t at = 0; (at = text.find_first_not_of(" \t", at)) != text.npos;) {
            const auto end = std::min(text.find_first_of(" \t", at), text.size());
            words.push_back(text.substr(at, end - at));
            at = end;
        }
        if (!words.empty()) execvp(words[0].c_str(), pointers(words).data());
    }
    std::vector<std::string> shell = {"sh", "-c", text};
    execv("/bin/sh", pointers(shell).data());
}

Result<> run(const Run& order, int control, std::optional<Verdict>& refused) {
    TRY(as_user::become(order.person));
    if ((refused = user_file::reject_unless_referenced(order.names, order.person))) return {};
    restore_defaults();
    // Without the daemon its input would end in the middle, and half a message look like a whole one.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return std::unexpected(Error::from_errno("die with the daemon"));
    if (getppid() == 1) return std::unexpected(Error{0, "the daemon has exited"});
    if (setsid() < 0) return std::unexpected(Error::from_errno("begin a session"));
    if (order.person.home.empty() || chdir(order.person.home.c_str()) != 0) (void)chdir("/");
    common::close_descriptors_except(control); // which goes when the program comes
    if (dup2(1, 2) < 0) return std::unexpected(Error::from_errno("connect the output of a command"));
    static std::vector<std::string> variables;
    variables = common::minimal_environment();
    variables.insert(variables.end(), order.environment.begin(), order.environment.end());
    static std::vector<char*> all;
    all = pointers(variables);
    environ = all.data();
    if (order.words.empty()) {
        become_program(order.command);
    } else {
        auto words = order.words;
        execv(words[0].c_str(), pointers(words).data());
    }
    return std::unexpected(
        Error::from_errno("run \"" + (order.words.empty() ? order.command : order.words.front()) + "\""));
}

} // namespace

std::vector<std::string> environment(const CommandContext& facts) {
    const auto at = facts.recipient.rfind('@');
    const auto local = facts.recipient.substr(0, at);
    const auto domain = at == facts.recipient.npos ? "" : facts.recipient.substr(at + 1);
    const auto mark = facts.delimiter == 0 ? local.npos : local.find(facts.delimiter, 1);
    const auto extension = mark == local.npos ? "" : local.substr(mark + 1);
    const std::pair<std::string_view, std::string_view> values[] = {
        {"HOME", facts.home},
        {"USER", facts.user},
        {"LOGNAME", facts.user},
        {"SHELL", "/bin/sh"},
        {"SENDER", facts.sender.empty() ? "MAILER-DAEMON" : facts.sender},
        {"RECIPIENT", facts.recipient},
        {"ORIGINAL_RECIPIENT", facts.original_recipient},
        {"LOCAL", local},
        {"EXTENSION", extension},
        {"DOMAIN", domain},
    };
    std::vector<std::string> out;
    for (const auto& [name, value] : values)
        if (!value.empty())
            out.push_back(fmt::format("{}={}", name, name == "HOME" ? std::string(value) : harmless(value)));
    return out;
}

} // namespace command

int run_command_as_user() {
    auto control = as_user::set_up_process(2);
    if (!control) return 1;
    const int socket = control->number();
    as_user::MessageSocket<command::Message> line(std::move(*control));
    const auto heard = line.receive(60'000);
    const auto* order = heard ? std::get_if<command::Run>(&*heard) : nullptr;
    if (!order) return 1;
    std::optional<Verdict> refused;
    const auto ran = command::run(*order, socket, refused);
    (void)line.send(command::Failed{refused ? *refused : verdict_of(ran.error())}, -1);
    return 1;
}

} // namespace local
