// Postfix's commands for queue, configuration and tables, as far as scripts and monitoring call them: one program that
// goes by the name it is called by. What these share: the command line, the configuration, complaints in
// Postfix's form ("postqueue: fatal: …").
//
// Says and does what Postfix's would; knows nothing that `postrider` could not do, which is the better one for
// people.
#pragma once
#include "daemons/common/config/config.h"
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace postfix_commands {

// The command line by getopt(3).
struct Call {
    std::string program; // "postqueue"
    std::vector<std::pair<char, std::string>> options; // in their order; "" where there is no value
    std::vector<std::string> words;
    int failure = 1; // the status of its complaints, whatever they are about, as Postfix's program has it

    bool has(char option) const;
    std::string value(char option) const; // the last one's
};

int postqueue(const Call& call);
int postsuper(const Call& call);
int postcat(const Call& call);
int postconf(const Call& call);
int postmap(const Call& call);
int postalias(const Call& call);

// argv[0] …; the exit status.
int run(std::vector<std::string> words);

// One line on standard error; fatal() returns call.failure.
int fatal(const Call& call, std::string_view text);
void warning(const Call& call, std::string_view text);
void info(const Call& call, std::string_view text);

// Could be a queue id, of whomever: letters and digits. Whether there is such a message is another matter.
bool is_queue_id(std::string_view text);

// -c names a directory with a postrider.toml, or the file itself. Nothing: it was complained about.
std::optional<config::Config> parse_config(const Call& call);
// The same for who talks to the MTA or its spool: what they need is had from a file with mistakes too, as far as can be
// (common/settings_in_force.h), with a warning.
std::optional<config::Config> config_in_force(const Call& call);

// Asks the queue-manager, line by line.
struct Answer {
    bool good = false;
    std::string refusal, text; // one of proto::control::code, "" if nobody answered; the complaint
};
Answer ask_queue(const config::Config& config, const nlohmann::json& request,
                 const std::function<void(const nlohmann::json&)>& on_line);

} // namespace postfix_commands
