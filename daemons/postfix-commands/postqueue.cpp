// postqueue(1): the queue listed for people and programs, and "try now".
#include "daemons/common/queue_flush.h"
#include "daemons/common/queue_listing.h"
#include "daemons/postfix-commands/command.h"
#include <algorithm>
#include <cctype>
#include <sysexits.h>

namespace postfix_commands {

int postqueue(const Call& call) {
    std::string wanted;
    for (const auto& [letter, value] : call.options)
        if (letter != 'c' && letter != 'v') wanted += letter;
    if (wanted.size() != 1 || !call.words.empty()) return EX_USAGE;
    const auto config = load_config(call);
    if (!config) return EX_CONFIG;
    const auto socket = config->spool.directory + "/run/showq";
    if (wanted == "p") return common::list_queue(socket, common::QueueListing::Form::text, call.program);
    if (wanted == "j") return common::list_queue(socket, common::QueueListing::Form::json, call.program);

    common::Flush what{call.value('i'), call.value('s'), "postqueue -" + wanted};
    const auto is_id = [](unsigned char c) { return std::isalnum(c) != 0; };
    if (wanted == "i" && (what.message.empty() || !std::ranges::all_of(what.message, is_id)))
        return fatal(call, EX_DATAERR, "invalid queue ID: " + what.message);
    if (wanted == "s" && what.site.empty()) return fatal(call, EX_DATAERR, "Cannot flush mail queue - no site is named");
    const auto outcome = common::flush_queue(*config, what);
    return outcome.status == EX_OK ? EX_OK : fatal(call, outcome.status, outcome.text);
}

} // namespace postfix_commands
