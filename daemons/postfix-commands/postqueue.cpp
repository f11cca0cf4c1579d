// postqueue(1): the queue listed for people and programs, and "try now".
#include "daemons/common/commands/queue_flush.h"
#include "daemons/common/commands/queue_listing.h"
#include "daemons/postfix-commands/command.h"
#include "libsmtp/message/address.h"
#include <fmt/format.h>
#include <sysexits.h>

namespace postfix_commands {

namespace {

// A domain or an address literal, as behind an @; or a recipient, whom Postfix would not take.
bool is_site(const std::string& text) {
    return smtp::Mailbox::parse(text.contains('@') ? text : "x@" + text).has_value();
}

} // namespace

int postqueue(const Invocation& invocation) {
    std::string wanted;
    for (const auto& [letter, value] : invocation.options)
        if (letter != 'c' && letter != 'v') wanted += letter;
    if (wanted.size() != 1 || !invocation.words.empty()) return EX_USAGE;
    const auto config = load_effective_config(invocation);
    if (!config) return invocation.failure_status;
    if (wanted == "p" || wanted == "j") {
        using Form = common::QueueListing::Form;
        const auto form = wanted == "p" ? Form::text : Form::json;
        return common::list_queue(config->spool.directory + "/run/showq", form, invocation.program) == EX_OK
                   ? EX_OK
                   : invocation.failure_status;
    }
    const common::FlushRequest what{invocation.value('i'), invocation.value('s'), "postqueue -" + wanted};
    if (wanted == "i" && !may_be_queue_id(what.message))
        return fatal(invocation, fmt::format("Cannot flush queue ID - invalid name: \"{}\"", what.message));
    if (wanted == "s" && !is_site(what.site))
        return fatal(invocation, fmt::format("Cannot flush mail queue - invalid destination: \"{}\"", what.site));
    const auto outcome = common::flush_queue(config->spool, config->mta, what);
    const bool gone = wanted == "i" && outcome.status == EX_DATAERR; // it may just have been delivered
    return outcome.status == EX_OK || gone ? EX_OK : fatal(invocation, outcome.text);
}

} // namespace postfix_commands
