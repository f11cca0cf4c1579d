// Postfix's commands for queue, configuration and tables, as far as scripts and monitoring call them: one program that
// acts by the name it is run as. What these share: the command line, the configuration, errors in
// Postfix's form ("postqueue: fatal: …").
//
// Behaves as Postfix's commands do. For interactive use `postrider` is the better command; it can do all of this.
#pragma once
#include "daemons/common/commands/effective_config.h"
#include "daemons/common/config/fwd.h"
#include "daemons/common/config/sections/recipients/lookup.h"
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace postfix_commands {

// What lookup tables need of the configuration.
struct TableSources {
    std::vector<config::LookupTable> sections;
    std::string maps_socket;
};

// The command line by getopt(3).
struct Invocation {
    std::string program;                               // "postqueue"
    std::vector<std::pair<char, std::string>> options; // in their order; "" where there is no value
    std::vector<std::string> words;
    int failure_status = 1; // the exit status of all its errors, as Postfix's program has it

    bool has(char option) const;
    std::string value(char option) const; // the last one's
};

int postqueue(const Invocation& invocation);
int postsuper(const Invocation& invocation);
int postcat(const Invocation& invocation);
int postconf(const Invocation& invocation);
int postmap(const Invocation& invocation);
int postalias(const Invocation& invocation);

// argv[0] …; the exit status.
int run(std::vector<std::string> words);

// One line on standard error; fatal() returns invocation.failure_status.
int fatal(const Invocation& invocation, std::string_view text);
void warning(const Invocation& invocation, std::string_view text);
void info(const Invocation& invocation, std::string_view text);

// Letters and digits only: it may be a queue id. Whether there is such a message is not checked.
bool may_be_queue_id(std::string_view text);

// -c names a directory with a postrider.toml, or the file itself. nullopt: the error was printed.
std::optional<config::Config> parse_config(const Invocation& invocation);
// Its [table.NAME] sections, in the same way.
std::optional<TableSources> parse_tables(const Invocation& invocation);
// The same for commands that talk to the MTA or its spool: from an invalid file they take the settings they need where
// that is possible (common/commands/effective_config.h), with a warning.
std::optional<common::EffectiveConfig> load_effective_config(const Invocation& invocation);

// Asks the queue-manager, line by line.
struct QueueReply {
    bool ok = false;
    std::string error_code, text; // one of proto::control::code, "" without an answer; the error text
};
QueueReply ask_queue(const common::EffectiveConfig& config, const nlohmann::json& request,
                     const std::function<void(const nlohmann::json&)>& on_line);

} // namespace postfix_commands
