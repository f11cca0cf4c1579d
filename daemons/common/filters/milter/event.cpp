#include "daemons/common/filters/milter/event.h"
#include <fmt/format.h>

namespace milter {

using config::Stage;

Event event_of(Stage stage, const EventContext& subject) {
    Event event;
    event.stage = stage;
    const auto address = subject.client_address.empty() ? "" : fmt::format("[{}]", subject.client_address);
    event.client_name =
        subject.client_name == "unknown" && !address.empty() ? address : std::string(subject.client_name);
    event.client_address = subject.client_address;
    event.client_port = subject.client_port;
    event.message = subject.message;
    const auto add = [&](const char* name, std::string_view value) {
        if (!value.empty()) event.macros.emplace_back(name, value);
    };
    switch (stage) {
    case Stage::connect:
        add("j", subject.server);
        add("{daemon_name}", subject.listener);
        add("v", "Postrider");
        add("_", std::string(subject.client_name) + address);
        add("{client_addr}", subject.client_address);
        add("{client_name}", subject.client_name);
        break;
    case Stage::helo:
        event.text = subject.helo;
        add("{tls_version}", subject.tls_version);
        add("{cipher}", subject.tls_cipher);
        add("{cert_subject}", subject.tls_peer);
        break;
    case Stage::mail:
        event.text = subject.sender;
        add("i", subject.queue_id);
        add("{auth_type}", subject.sasl_method);
        add("{auth_authen}", subject.sasl_user);
        add("{auth_author}", subject.sasl_sender);
        add("{mail_addr}", subject.sender);
        break;
    case Stage::rcpt:
        event.text = subject.recipient;
        add("i", subject.queue_id);
        add("{rcpt_addr}", subject.recipient);
        break;
    case Stage::data:
    case Stage::end_of_data: add("i", subject.queue_id); break;
    case Stage::unknown: event.text = subject.command; break;
    }
    return event;
}

} // namespace milter
