#include "daemons/smtpd/intake/envelope.h"
#include "daemons/common/submission/lifetime.h"
#include "libsmtp/text/date.h"
#include "libsmtp/text/text.h"
#include <chrono>
#include <fmt/format.h>

namespace smtpd {

bool ends_before_release(const smtp::MailParameters& parameters, smtp::WallTime now) {
    if (!parameters.deliver_by) return false;
    const auto by = now + std::chrono::seconds(parameters.deliver_by->seconds);
    return (parameters.hold_for && by <= now + std::chrono::seconds(*parameters.hold_for)) ||
           (parameters.hold_until && *parameters.hold_until > now && by <= *parameters.hold_until);
}

std::string schedule_of(const smtp::MailParameters& parameters) {
    std::string out;
    if (parameters.hold_for) out = fmt::format("for {}", *parameters.hold_for);
    if (parameters.hold_until) out = smtp::rfc3339_date(*parameters.hold_until);
    return parameters.deliver_by ? out + " by " + smtp::text_of(*parameters.deliver_by) : out;
}

spool::Envelope make_envelope(const Rules& rules, const Client& client, const Reception& reception,
                              const smtp::event::Mail& mail, std::string reverse_path, smtp::WallTime now) {
    spool::Envelope envelope;
    envelope.reverse_path = std::move(reverse_path);
    envelope.arrival = now;
    envelope.lifetime = common::lifetime_of(envelope.reverse_path, rules.config->queue);
    envelope.submitter = "net:" + client.network;
    if (mail.path.mailbox) envelope.submitter += " " + smtp::lowered(mail.path.mailbox->domain);
    if (client.permission.kind == CertificatePermission::Kind::permitted)
        envelope.submitter = "cert:" + client.permission.name;
    if (!client.user.empty()) {
        envelope.submitter = "sasl:" + client.user;
        envelope.sasl_method = client.auth_method;
        envelope.sasl_user = client.user;
    }
    envelope.sasl_sender = mail.parameters.auth;
    if (mail.parameters.hold_for) // never early: the queue counts in whole seconds
        envelope.not_before =
            std::chrono::ceil<std::chrono::seconds>(now + std::chrono::seconds(*mail.parameters.hold_for));
    if (mail.parameters.hold_until) envelope.not_before = mail.parameters.hold_until;
    if (const auto& by = mail.parameters.deliver_by) {
        envelope.deliver_by = std::chrono::floor<std::chrono::seconds>(now) + std::chrono::seconds(by->seconds);
        envelope.late = by->late;
        envelope.deliver_by_trace = by->trace;
    }
    envelope.priority = mail.parameters.priority;
    envelope.listener = rules.listener.name;
    envelope.client_name = client.name;
    envelope.client_address = client.address_text;
    envelope.client_port = client.port;
    envelope.helo = smtp::printable(reception.helo, 255);
    envelope.protocol = reception.protocol;
    if (reception.tls) {
        envelope.tls_version = reception.tls->version;
        envelope.tls_cipher = reception.tls->cipher;
        envelope.tls_peer = reception.tls->peer_name;
    }
    if (mail.parameters.body == smtp::Body::eight_bit_mime) envelope.body = spool::Body::eight_bit;
    envelope.smtputf8 = mail.parameters.smtputf8;
    envelope.require_tls = mail.parameters.require_tls;
    envelope.ret = mail.parameters.ret;
    envelope.envid = mail.parameters.envid;
    return envelope;
}

} // namespace smtpd
