// The commands that hooks push events to ([hook.<name>].command): starts them for the events process, which may not run
// programs, and passes it the ends of their pipes. One for each hook. Knows neither events nor when they are sent.
#pragma once
#include "daemons/common/config/sections/system/hook.h"
#include "daemons/common/process/privileges.h"
#include "daemons/common/runtime/fd.h"
#include "libspool/disk/result.h"
#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace master {

class SinkCommands {
public:
    struct Pipes {
        common::Fd input, output; // to its standard input, from its standard output
    };
    // `user`: the user commands run as; null: as we are. It outlives this.
    explicit SinkCommands(const common::Identity* user) : user_(user) {}
    ~SinkCommands(); // kills all
    SinkCommands(const SinkCommands&) = delete;
    SinkCommands& operator=(const SinkCommands&) = delete;

    // The hooks from now on: commands of others are killed.
    void use(const std::vector<config::Hook>& hooks);
    // Starts it; one that still runs is killed before. `errors`: what becomes its standard error; -1: ours.
    spool::Result<Pipes> start(const std::string& hook, int errors);
    // Master waits for them and reports that they have ended.
    std::vector<pid_t> running() const;
    void has_ended(pid_t pid);

private:
    void kill(const std::string& hook);

    const common::Identity* user_;
    std::map<std::string, std::vector<std::string>> commands_; // by hook
    std::map<pid_t, std::string> running_;                     // → hook
};

} // namespace master
