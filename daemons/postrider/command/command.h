// What the commands of `postrider` share: the control sockets, the selection of messages, exit status and words for
// errors.
#pragma once
#include "daemons/common/config/sections/system/mta.h"
#include "daemons/common/config/sections/system/spool.h"
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

// Connects to a control socket below run/. Where nothing listens the error has the code ENOENT or ECONNREFUSED.
spool::Result<ipc::JsonClient> connect_control(const config::Spool& spool, std::string_view socket);
bool is_not_running(const spool::Error& error);
// Reports why a control socket could not be used; returns the exit status for that.
int report_socket_error(const spool::Error& error, const config::Mta& mta);

// Sends a request to the queue-manager. An error is printed: it is not running, refuses the request, or sends nothing
// for `seconds`. Returns the exit status.
int ask_queue(const Arguments& arguments, const nlohmann::json& request,
              const std::function<void(const nlohmann::json&)>& on_line, int seconds = 120);
// The same; where the queue-manager answers that there is no such thing, `if_unknown` gets its words, and its exit
// status counts.
using IfUnknown = std::function<int(const std::string& refusal)>;
int ask_queue(const Arguments& arguments, const nlohmann::json& request,
              const std::function<void(const nlohmann::json&)>& on_line, const IfUnknown& if_unknown,
              int seconds = 120);
// The messages that words select; "-" reads ids from standard input. nullopt: the error was printed.
std::optional<MessageSelector> parse_selector(std::span<const std::string> words);
// Reports that a message of the spool could not be read; returns the exit status for that.
int report_read_error(const std::string& name, const spool::ReadError& error);
int report_read_error(const std::string& name, const spool::Error& error);

} // namespace postrider
