// What the verbs of `postrider` share: the table of verbs, the configuration, words for the terminal.
#pragma once
#include "daemons/common/config/config.h"
#include "daemons/common/ipc/json_lines.h"
#include "daemons/postrider/arguments.h"
#include <optional>
#include <string>
#include <string_view>

namespace postrider {

// sysexits(3), and 3 for "not running" as LSB has it.
enum Exit : int { ok = 0, not_running = 3, usage = 64, unavailable = 69, software = 70, system_error = 71, no_permission = 77, bad_config = 78 };

struct Verb {
    std::string_view name, words, summary;
    int (*run)(const Arguments&);
};

int run(const Arguments&);    // in the foreground
int start(const Arguments&);
int stop(const Arguments&);
int reload(const Arguments&);
int logs(const Arguments&);
int status(const Arguments&);
int check(const Arguments&);

// One line on standard error, "postrider: …".
void complain(std::string_view text);

// The configuration named or in the usual place; its problems are printed.
std::optional<config::Config> load_config(const Arguments& arguments);

// A control socket below run/. Nobody there is an error of code ENOENT or ECONNREFUSED.
spool::Result<ipc::JsonClient> ask_at(const config::Config& config, std::string_view socket);
bool means_not_running(const spool::Error& error);
// Says why a control socket could not be used; the exit status for that.
int explain(const spool::Error& error);

// "3 h 12 min", "45 s".
std::string duration_text(std::int64_t seconds);

} // namespace postrider
