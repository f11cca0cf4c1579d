#include "daemons/postrider/setup/dns_questions.h"
#include "daemons/postrider/setup/run_until.h"

namespace postrider::setup {

dns::Answer DnsQuestions::ask(std::string_view name, dns::Type type) {
    dns::Answer answer;
    bool done = false;
    const auto lookup = resolver_.look_up(name, type, [&](const dns::Answer& found) {
        answer = found;
        done = true;
        loop_.stop();
    });
    run_until(loop_, done);
    return answer;
}

dns::ClientName::Names DnsQuestions::names_of(const common::IpAddress& address) {
    dns::ClientName::Names names;
    bool done = false;
    const dns::ClientName lookup(resolver_, address, [&](const dns::ClientName::Names& found) {
        names = found;
        done = true;
        loop_.stop();
    });
    run_until(loop_, done);
    return names;
}

} // namespace postrider::setup
