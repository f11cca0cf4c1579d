// Delivers a message to a command: the program runs as the user, reads the message on its standard input, and its
// exit status is the result. Looks like any Mailbox. Waits for the program no longer than its time limit, and not for
// processes that the program leaves behind. Knows nothing about queues.
#pragma once
#include "daemons/local/as_user/as_user.h"
#include "daemons/local/as_user/child.h"
#include "daemons/local/as_user/user_file.h"
#include "daemons/local/mailbox/local_text.h"
#include "daemons/local/mailbox/mailbox.h"
#include "libsmtp/text/time_types.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace local {

namespace command {

struct Run { // daemon → process
    as_user::UserIdentity person;
    std::string command;                  // for a shell; where there are words: what it is called
    std::vector<std::string> words;       // the program and its arguments, as they are; empty: `command`
    std::vector<std::string> environment; // "NAME=value": in addition to what every program needs
    user_file::TargetReference names;     // not empty: it is run only if the user's own files name it
    static void fields(auto& m, auto& f) {
        f("person", m.person);
        f("command", m.command);
        f("words", m.words);
        f("environment", m.environment);
        f("names", m.names);
    }
};
// process → daemon: it could not be run. Otherwise nothing is sent, and the socket closes.
struct Failed {
    Verdict verdict;
    static void fields(auto& m, auto& f) { f("verdict", m.verdict); }
};
using Message = std::variant<Run, Failed>;

// The environment variables that describe the delivery to the program.
struct CommandContext {
    std::string_view user, home, sender, recipient, original_recipient;
    char delimiter = 0;
};
// HOME, USER, LOGNAME, SHELL, SENDER, RECIPIENT, ORIGINAL_RECIPIENT, LOCAL, EXTENSION, DOMAIN. In values from
// outside, characters that a shell might not take as part of a word become "_".
std::vector<std::string> environment(const CommandContext& facts);

} // namespace command

class Command final : public Mailbox {
public:
    // `prefix`: text put before the message. `timeout`: for the process to become the program; `limit`: for all.
    Command(command::Run run, std::string prefix, smtp::Duration timeout, smtp::Duration limit,
            UnreapedProcesses& unreaped);
    ~Command() override; // a process still running that has not received the whole message is killed
    std::optional<Verdict> open() override;
    std::optional<Verdict> write(std::string_view content) override;
    Verdict commit() override;

private:
    enum class Until { written, ended };
    spool::Result<std::optional<Verdict>> start();
    spool::Result<> go_on(Until until);
    void feed();
    bool read_output();

    command::Run run_;
    const int timeout_; // ms
    const smtp::Duration limit_;
    std::int64_t deadline_ = 0; // ms of the steady clock
    LocalText text_{FromLines::as_they_are};
    std::string buffer_; // for its input
    std::size_t input_sent_ = 0;
    std::string output_;             // the first of it
    common::Fd input_, output_pipe_; // ours
    Child child_;
    bool late_ = false;
};

// The process until it becomes the program: its input, its output and the socket are 0, 1 and 2.
int run_command_as_user();

} // namespace local
