// What the commands of `postrider` share: the control socket, the selection of messages, error reports.
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

struct Command {
    std::string_view name;   // "status", "message hold"
    std::string_view parameters;  // "[ID|WORD...]"
    std::size_t min_parameters, max_parameters; // number of parameters
    std::span<const Option> options;
    std::string_view summary;
    int (*run)(const Arguments&); // its words are those after the command's name
};

int run(const Arguments&); // in the foreground
int start(const Arguments&);
int stop(const Arguments&);
int reload(const Arguments&);
int logs_reopen(const Arguments&);
int status(const Arguments&);
int check(const Arguments&);
int run_simulation(const Arguments&);
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
int explain(const Arguments&);
int pause(const Arguments&);
int resume(const Arguments&);
int force(const Arguments&);
int try_address(const Arguments&);
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
std::span<const Command> commands();
// argv[1] …: runs the command and returns its exit status.
int run_command_line(const std::vector<std::string_view>& given);

// Connects to a control socket below run/. Where nothing listens the error has the code ENOENT or ECONNREFUSED.
spool::Result<ipc::JsonClient> connect_control(const config::Config& config, std::string_view socket);
bool is_not_running(const spool::Error& error);
// Reports why a control socket could not be used; returns the exit status for that.
int report_socket_error(const spool::Error& error, const config::Config& config);

// Sends a request to the queue-manager. An error is printed: it is not running, refuses the request, or sends nothing for
// `seconds`. Returns the exit status.
int ask_queue(const Arguments& arguments, const nlohmann::json& request,
              const std::function<void(const nlohmann::json&)>& on_line, int seconds = 120);
// The messages that words select; "-" reads ids from standard input. nullopt: the error was printed.
std::optional<MessageSelector> parse_selector(std::span<const std::string> words);
// Reports that a message of the spool could not be read; returns the exit status for that.
int report_read_error(const std::string& name, const spool::ReadError& error);
int report_read_error(const std::string& name, const spool::Error& error);

// What `status` and `top` show.
struct StatusData {
    nlohmann::json master, processes, queue; // queue: null if the queue-manager does not answer
    std::string queue_error;               // why
};
spool::Result<StatusData> fetch_status(const config::Config& config);
// A page of it; lines are cut at `width` unless that is 0.
std::string status_page(const StatusData& data, std::int64_t now, std::size_t width);

} // namespace postrider
