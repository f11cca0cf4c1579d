// What the verbs of `postrider` share: the table of verbs, the configuration, words for the terminal.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/common/ipc/json_lines.h"
#include "daemons/common/terminal/arguments.h"
#include "daemons/common/terminal/exit_status.h"
#include "daemons/common/terminal/load_config.h"
#include "daemons/common/terminal/output.h"
#include "daemons/postrider/command/message_selector.h"
#include "libspool/message/message_reader.h"
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace postrider {

struct Verb {
    std::string_view name;   // "status", "message hold"
    std::string_view words;  // what follows it: "[ID|WORD...]"
    std::size_t least, most; // so many of them
    std::span<const Option> options;
    std::string_view summary;
    int (*run)(const Arguments&); // words: those behind the verb's name
};

int run(const Arguments&); // in the foreground
int start(const Arguments&);
int stop(const Arguments&);
int reload(const Arguments&);
int logs_reopen(const Arguments&);
int status(const Arguments&);
int check(const Arguments&);
int play(const Arguments&);
int passwd(const Arguments&);
int dkim_key(const Arguments&);
int map(const Arguments&);
int top(const Arguments&);
int queue_list(const Arguments&);
int queue_show(const Arguments&);
int queue_ages(const Arguments&);
int link_list(const Arguments&);
int link_show(const Arguments&);
int message_list(const Arguments&);
int message_show(const Arguments&);
int message_cat(const Arguments&);
int message_hold(const Arguments&);
int message_release(const Arguments&);
int message_remove(const Arguments&);
int message_restore(const Arguments&);
int message_requeue(const Arguments&);
int message_retry(const Arguments&);
int message_reroute(const Arguments&);
int message_expire(const Arguments&);
int message_priority(const Arguments&);
int explain_it(const Arguments&);
int pause(const Arguments&);
int resume(const Arguments&);
int force(const Arguments&);
int try_it(const Arguments&);
int suppress_add(const Arguments&);
int suppress_remove(const Arguments&);
int suppress_list(const Arguments&);
int suppress_import(const Arguments&);
int suppress_check(const Arguments&);
int spool_check(const Arguments&);
int spool_export(const Arguments&);
int spool_import(const Arguments&);
int activate(const Arguments&);
int deactivate(const Arguments&);
int import_from_postfix(const Arguments&);

// All of them, in the order of the help.
std::span<const Verb> verbs();
// argv[1] … : finds the verb and runs it; the exit status.
int run_command(const std::vector<std::string_view>& given);

// A control socket below run/. Nobody there is an error of code ENOENT or ECONNREFUSED.
spool::Result<ipc::JsonClient> ask_at(const config::Config& config, std::string_view socket);
bool means_not_running(const spool::Error& error);
// Says why a control socket could not be used; the exit status for that.
int explain(const spool::Error& error, const config::Config& config);

// Asks the queue-manager; the exit status, and a complaint, if it is not there, refuses, or is silent for so
// many seconds.
int ask_queue(const Arguments& arguments, const nlohmann::json& request,
              const std::function<void(const nlohmann::json&)>& on_line, int seconds = 120);
// The messages that words name; "-" reads ids from standard input. Nothing: it was complained about.
std::optional<Choice> choose(std::span<const std::string> words);
// A message of the spool could not be read; the exit status for that.
int read_failed(const std::string& name, const spool::ReadError& error);
int read_failed(const std::string& name, const spool::Error& error);

// What `status` and `top` show.
struct Facts {
    nlohmann::json master, processes, queue; // queue: null if the queue-manager does not answer
    std::string queue_silence;               // why
};
spool::Result<Facts> gather(const config::Config& config);
// A page of it; lines are cut at `width` unless that is 0.
std::string status_page(const Facts& facts, std::int64_t now, std::size_t width);

} // namespace postrider
