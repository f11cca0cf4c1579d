// The part of a Connection that is about where it comes from: the addresses of its pool, what becomes of those
// that a server does not want, and who is told.
#include "daemons/smtp-client/connection.h"
#include <fmt/format.h>

namespace smtp_client {

// The mail waits: by another address it was not to go.
void Connection::pool_missing() {
    auto& why = (last_failure_ = {}).why;
    why.stage = smtp::Stage::connect;
    why.status = "4.3.5";
    why.text = fmt::format("there is no pool of source addresses \"{}\" (any more): see [pool.{}] in the configuration",
                           order_.pool, order_.pool);
    voice().warning("{}", why.text);
    link_failed();
}

// A server that answers, and refuses before anybody's mail is spoken of, may mean the address we come from: the
// pool's next one shows. Silence and broken connections say nothing of the kind.
bool Connection::again_from_another(const smtp::Verdict& why) {
    const bool at_the_door = why.stage == smtp::Stage::banner || why.stage == smtp::Stage::ehlo;
    if (!sources_.current() || !at_the_door || why.code < 400 || up_ || !sources_.refused(why.text)) return false;
    voice().info("{}; trying again from {} instead of {}", why.text,
                 sources_.toward(sources_.current()->address)->address.to_string(), source());
    same_address_again();
    return true;
}

// It is up. What others of the pool were told before, was about them.
void Connection::tell_of_sources() {
    if (!sources_.current()) return;
    voice().info("{} reached from {} ({}), pool {}", relay(), source(), sources_.current()->helo, sources_.pool_name());
    tell_of_unusable();
    for (auto& refusal : sources_.taken_instead())
        owner_.source_refused(*this, {order_.link, std::move(refusal.source), std::move(refusal.why), false});
}

void Connection::tell_of_unusable() {
    for (auto& each : sources_.found_unusable())
        owner_.source_refused(*this, {order_.link, std::move(each), "this host does not have it", true});
}

} // namespace smtp_client
