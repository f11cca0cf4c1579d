#include "daemons/smtpd/rules.h"
#include <algorithm>

namespace smtpd {

using namespace std::chrono_literals;

static smtp::ServerSettings settings_of(const config::Config& config, const config::Listener& listener) {
    const auto& from = config.smtpd;
    smtp::ServerSettings to;
    to.hostname = config.mta.hostname;
    to.message_size = listener.message_size;
    to.recipients = listener.recipients;
    to.capabilities.size = listener.message_size;
    to.content_lines = from.bare_newlines == config::BareNewlines::reject
                           ? smtp::ServerSettings::ContentLines::reject
                           : smtp::ServerSettings::ContentLines::normalise;
    to.line = from.command_line;
    to.junk_commands = from.commands;
    to.soft_errors = from.soft_errors;
    to.hard_errors = from.hard_errors;
    to.error_delay = from.error_delay;
    to.command_time = from.command_timeout;
    to.data_time = from.data_timeout;
    to.min_data_rate = from.minimum_rate;
    return to;
}

std::shared_ptr<const Rules> make_rules(std::shared_ptr<const config::Config> config,
                                        const config::Listener& listener) {
    auto rules = std::make_shared<Rules>();
    rules->config = std::move(config);
    rules->listener = listener;
    rules->normal = settings_of(*rules->config, listener);
    rules->stressed = rules->normal;
    rules->stressed.command_time = std::min<smtp::Duration>(rules->normal.command_time, 10s);
    rules->stressed.data_time = std::min<smtp::Duration>(rules->normal.data_time, 30s);
    rules->stressed.hard_errors = std::min(rules->normal.hard_errors, 2u);
    const smtp::Reply busy{
        421, {4, 3, 2}, rules->normal.hostname + " All server ports are busy, try again later"};
    busy.append_to(rules->busy);
    return rules;
}

} // namespace smtpd
