#include "daemons/decide/outcome/advice.h"
#include <algorithm>
#include <cerrno>

namespace decide {

namespace {

using smtp::Stage;
using Where = DeliveryFailure::Where;

// How a conversation failed.
enum class How : std::uint8_t {
    any,
    said,      // a reply of the server
    silent,    // no reply
    broken,    // the connection was closed
    garbled,   // what the server sent is not SMTP
    unnamed,   // connect: the address is not known
    no_source, // … none of the pool's addresses can be used …
    no_socket, // … through a UNIX socket: it does not exist …
    shut,      // … is not accessible …
    unheard,   // … or no process accepts connections
    wrapped,   // tls: from the first byte
};

struct Row {
    Where where;
    Stage stage;             // none: any
    std::string_view status; // without its class; "": any
    std::string_view advice; // DOMAIN, HOST, ADDRESS, PORT, RECIPIENT, POOL and USER stand for the failure's
    How how = How::any;
    int code = 0; // the server's, or its first digit; 0: any
};

// The first row that matches is used.
constexpr Row table[] = {
    {Where::recipient, Stage::none, ".1.1",
     "This is a local domain, and no user or alias in it has that name. Check [local] (domains, users, "
     "aliases)."},
    {Where::recipient, Stage::none, ".3.0",
     "A table could not be read. The log names it; mail waits until "
     "the table is readable."},
    {Where::recipient, Stage::none, ".3.5",
     "Something on this system must be fixed first: an alias, a table or a setting, as the text says. Mail "
     "waits until then; delivery resumes automatically."},
    {Where::recipient, Stage::none, "",
     "The address has no destination. Check [local], the aliases and the virtual tables."},

    {Where::suppression, Stage::none, "",
     "The recipient is on this system's suppression list. \"postrider suppress check RECIPIENT\" shows the "
     "entry, \"postrider suppress remove RECIPIENT\" removes it; if the entry covers the whole domain, give "
     "@ and the domain instead."},

    {Where::route, Stage::none, ".1.10",
     "The domain declares that it accepts no mail (null MX). This system can do nothing about it; mail for "
     "the domain is returned."},
    {Where::route, Stage::none, ".4.6",
     "Mail for the domain is routed back to this host. If it should be delivered here, add the domain to "
     "local.domains; otherwise its MX records or its [route] must name another host."},
    {Where::route, Stage::none, ".4.3",
     "The name servers gave no reliable answer. Check that they are the right ones (dns.servers, or else "
     "/etc/resolv.conf) and that no firewall blocks them. Test with: dig MX DOMAIN. Delivery resumes "
     "automatically when they answer."},
    {Where::route, Stage::none, ".4.4",
     "The domain has no mail host. Compare: dig MX DOMAIN; dig A DOMAIN. If public name servers give a "
     "different answer, check dns.servers."},
    {Where::route, Stage::none, ".1.2", "There is no such domain. Check its spelling. Compare: dig MX DOMAIN."},
    {Where::route, Stage::none, "", "Check the domain's [route] and dns.servers."},

    {Where::service, Stage::none, ".4.6",
     "The submission server of DOMAIN is this host itself. The [route] must name another one."},
    {Where::service, Stage::none, ".4.3",
     "The name servers gave no reliable answer. Check that they are the right ones (dns.servers, or else "
     "/etc/resolv.conf) and that no firewall blocks them. Test with: dig SRV _submissions._tcp.DOMAIN. "
     "Delivery resumes automatically when they answer."},
    {Where::service, Stage::none, "",
     "The [route] has the next hop \"srv:DOMAIN\", but the DNS names no submission server for that domain. "
     "Compare: dig SRV _submissions._tcp.DOMAIN; dig SRV _submission._tcp.DOMAIN. If the provider publishes "
     "none, set next_hop to its host, such as \"[smtp.DOMAIN]:587\"."},

    {Where::records, Stage::none, "",
     "The host has TLSA records (tls = \"dane-only\" requires them), so mail is sent to it only over TLS "
     "with a certificate that matches them. Often the certificate was renewed and the record was not; only "
     "the host's postmaster can correct that. Or a third party intercepts the connection. Compare: dig "
     "+dnssec TLSA _PORT._tcp.HOST; openssl s_client -starttls smtp -connect ADDRESS:PORT."},
    {Where::policy, Stage::none, "",
     "The domain's MTA-STS policy allows mail only to the hosts that it lists, over TLS, with a certificate "
     "for the host's name from a trusted authority (smtp_client.tls_ca_file). If host and policy do not "
     "match, only the domain's postmaster can correct that. Compare: dig MX DOMAIN; curl "
     "https://mta-sts.DOMAIN/.well-known/mta-sts.txt."},

    {Where::conversation, Stage::lookup, ".4.3",
     "The name servers gave no reliable answer about the host. Check that they are the right ones "
     "(dns.servers, or else /etc/resolv.conf). Test with: dig A HOST. Delivery resumes automatically when "
     "they answer."},
    {Where::conversation, Stage::lookup, "",
     "The host has no address. Compare: dig A HOST; dig AAAA HOST. Check dns.servers, and smtp_client.ipv4 "
     "and ipv6."},
    {Where::conversation, Stage::connect, ".3.5",
     "A [route], pools.by_sender or the message itself names the pool POOL, which is not configured. Add "
     "[pool.POOL] with its addresses, or name another pool."},
    {Where::conversation, Stage::connect, "",
     "Mail is sent from the pool POOL, and none of its addresses can be used to reach that host. Compare "
     "[pool.POOL] with the addresses of this host: ip address.",
     How::no_source},
    {Where::conversation, Stage::connect, "",
     "There is no socket ADDRESS. Check that the server that creates it is running, and that the path after "
     "\"lmtp:\" in the configuration is correct. Compare: ls -l ADDRESS; ss -xl.",
     How::no_socket},
    {Where::conversation, Stage::connect, "",
     "The socket ADDRESS is not accessible to USER, which delivers the mail: it needs write permission on "
     "the socket and search permission on each directory above it. Compare: namei -l ADDRESS. The server "
     "that creates the socket sets its mode, user and group (Dovecot: unix_listener).",
     How::shut},
    {Where::conversation, Stage::connect, "",
     "No process accepts connections at the socket ADDRESS. Check that the server that created it is still "
     "running. Compare: ls -l ADDRESS; ss -xl. USER, which delivers the mail, must be able to write to it.",
     How::unheard},
    {Where::conversation, Stage::connect, "",
     "The connection was not accepted. Check that host and port, or the socket, are correct, that the server "
     "is running, and that no firewall blocks the connection (many networks block outgoing port 25). Test "
     "from this host: nc -vz with the address and port that the reason names; ls -l of a socket. If port 25 "
     "is blocked, send through a relay: [route.\"*\"].",
     How::unnamed},
    {Where::conversation, Stage::connect, "",
     "The connection was not accepted. Check that host and port are correct and that no firewall blocks the "
     "connection (many networks block outgoing port 25). Test from this host: nc -vz ADDRESS PORT. If port "
     "25 is blocked, send through a relay: [route.\"*\"]."},

    {Where::conversation, Stage::none, "",
     "The server accepts no more mail at the moment: too many connections or messages, or it is temporarily "
     "closed. Mail is retried automatically, with fewer connections. If this persists, see the text of the "
     "server's reply; connections, messages_per_second and messages_per_hour of the domain's [route] keep "
     "this system below the server's limits.",
     How::said, 421},
    {Where::conversation, Stage::banner, "",
     "The host accepts the connection but sends no greeting. Often the port uses TLS from the first byte, as "
     "465 does (set implicit_tls = true in the [route]); openssl s_client -connect ADDRESS:PORT shows this. "
     "Or the server delays its greeting to unknown clients (a tarpit) for longer than "
     "smtp_client.greeting_timeout.",
     How::silent},
    {Where::conversation, Stage::banner, "",
     "The connection was closed before a greeting. The server, or a firewall in front of it, rejects this "
     "host (a block list, too many connections), or the port uses TLS from the first byte (implicit_tls = "
     "true in the [route]). Compare from this host: nc ADDRESS PORT; openssl s_client -connect ADDRESS:PORT.",
     How::broken},
    {Where::conversation, Stage::banner, "",
     "The greeting is not that of a mail server. Check that host and port are correct: nc ADDRESS PORT shows "
     "what it sends.",
     How::garbled},
    {Where::conversation, Stage::banner, "",
     "The server rejects this host with its greeting. The text of its reply says why; often it is a block "
     "list, a missing reverse name (PTR) of this host's address, or too many connections."},
    {Where::conversation, Stage::ehlo, "",
     "The server sent a greeting, but no reply to EHLO. It delays unknown clients (a tarpit) or waits for a "
     "DNS lookup of this host's address, for longer than smtp_client.command_timeout; or a firewall inspects "
     "the connection. Compare from another host: nc ADDRESS PORT.",
     How::silent},
    {Where::conversation, Stage::ehlo, "",
     "The connection was closed at EHLO: the server does not accept this host, or a firewall that inspects "
     "SMTP does not accept the command. Compare: nc ADDRESS PORT, and type EHLO by hand.",
     How::broken},
    {Where::conversation, Stage::ehlo, "",
     "The server's reply to EHLO is not valid SMTP. A device on the path may change it (a firewall, a "
     "proxy), or it is another service. To see what it sends: nc ADDRESS PORT.",
     How::garbled},
    {Where::conversation, Stage::ehlo, "",
     "The server does not accept the name in EHLO. mta.hostname (or smtp_client.helo) must be a fully "
     "qualified name that resolves to this host's address, and the address must resolve to that name."},
    {Where::conversation, Stage::tls, ".7.4",
     "TLS is required for this domain, but the server does not offer it. Ask its postmaster, or lower tls of "
     "the domain's [route]."},
    {Where::conversation, Stage::tls, "",
     "The TLS handshake at the start of the connection failed. If the port starts in plain text (25, 587), "
     "remove implicit_tls from the [route] and set tls = \"verify\" or \"encrypt\". Compare: openssl "
     "s_client -connect ADDRESS:PORT. Certificates are verified with smtp_client.tls_ca_file.",
     How::wrapped},
    {Where::conversation, Stage::tls, "",
     "TLS is required for this domain, but the handshake or the verification failed. Compare: openssl "
     "s_client -starttls smtp -connect ADDRESS:PORT. Certificates are verified with smtp_client.tls_ca_file; "
     "tls of the domain's [route] sets what is required."},
    {Where::conversation, Stage::none, "",
     "The server stopped replying. It may delay unknown clients (a tarpit), or it waits for a service that "
     "does not answer; mail is retried automatically. smtp_client.command_timeout limits the wait.",
     How::silent},
    {Where::conversation, Stage::none, "",
     "The server sent an invalid reply, or a reply to another command. A device on the path may change it (a "
     "firewall, a proxy); try smtp_client.pipelining = false.",
     How::garbled},
    {Where::conversation, Stage::none, "",
     "The connection was lost. If this persists, a device on the path interrupts it (a firewall that "
     "inspects SMTP, a wrong MTU); try smtp_client.pipelining = false.",
     How::broken},
    {Where::conversation, Stage::auth, ".7.4",
     "There is an account for this server in smtp_client.credentials, but the server offers no AUTH "
     "mechanism that can be used. Many servers offer AUTH only after TLS (tls = \"verify\" of the [route]) "
     "or on the submission ports: 587, or 465 with implicit_tls = true. Compare: openssl s_client -starttls "
     "smtp -connect ADDRESS:PORT, and type EHLO by hand. auth of the [route] sets which mechanisms may be "
     "used, or disables AUTH."},
    {Where::conversation, Stage::auth, "",
     "Authentication with the account for this server in smtp_client.credentials failed. Check the password. "
     "auth of the domain's [route] sets which mechanisms may be used, or disables AUTH."},
    {Where::conversation, Stage::none, "",
     "The server accepts mail only from clients that authenticate. Add the account that the provider gave "
     "you to smtp_client.credentials; see postrider-credentials(5).",
     How::said, 530},
    {Where::conversation, Stage::mail, "",
     "The server rejects the sender temporarily: because of a rate limit, or because its lookup of the "
     "sender's domain failed. Mail is retried automatically; if this persists, see the text of the server's "
     "reply.",
     How::said, 4},
    {Where::conversation, Stage::mail, "",
     "The server rejects this sender. Try another one (--from), and check that SPF allows this host to send "
     "for its domain."},
    {Where::conversation, Stage::rcpt, ".1.1",
     "The server has no user of that name. Ask the recipient for "
     "the correct address."},
    {Where::conversation, Stage::rcpt, ".2.1",
     "The mailbox is disabled. Only its owner or its postmaster can change that."},
    {Where::conversation, Stage::rcpt, ".2.2", "The mailbox is full. Only its owner can change that."},
};

constexpr std::string_view rcpt_temporary =
    "The server rejects the recipient temporarily. With greylisting this resolves itself: a retry succeeds, "
    "usually within an hour. If this persists, see the text of the server's reply.";
constexpr std::string_view rcpt_permanent =
    "The server rejects this recipient. If its text mentions \"relay\": it does not serve that domain, or "
    "only for clients that authenticate; check the MX records and the domain's [route].";

How how_of(const DeliveryFailure& failure) {
    if (failure.where != Where::conversation) return How::any;
    if (failure.code != 0) return How::said;
    if (failure.stage == Stage::connect) {
        if (failure.host.contains("[/"))
            return failure.error == ENOENT                             ? How::no_socket
                   : failure.error == EACCES || failure.error == EPERM ? How::shut
                                                                       : How::unheard;
        if (failure.error == EADDRNOTAVAIL && !failure.pool.empty()) return How::no_source;
        return failure.host.empty() ? How::unnamed : How::any;
    }
    if (failure.stage < Stage::banner) return How::any;
    if (failure.stage == Stage::tls) return failure.wrapped ? How::wrapped : How::any;
    if (failure.silent) return How::silent;
    const auto detail = failure.status.substr(std::min<std::size_t>(1, failure.status.size()));
    if (detail == ".5.0") return How::garbled;
    return failure.status.starts_with("4.4") ? How::broken : How::any;
}

std::string_view find(const DeliveryFailure& failure) {
    const auto status = failure.status.substr(std::min<std::size_t>(1, failure.status.size()));
    const auto how = how_of(failure);
    for (const Row& row : table)
        if (row.where == failure.where && (row.stage == Stage::none || row.stage == failure.stage) &&
            (row.status.empty() || row.status == status) && (row.how == How::any || row.how == how) &&
            (row.code == 0 || row.code == failure.code || row.code == failure.code / 100))
            return row.advice;
    return failure.code >= 500 || failure.status.starts_with('5') ? rcpt_permanent : rcpt_temporary;
}

void put(std::string& text, std::string_view word, std::string_view value) {
    for (auto at = text.find(word); at != text.npos; at = text.find(word, at + value.size()))
        text.replace(at, word.size(), value);
}

// The parts of "mx.example.org[192.0.2.1]:25", "[mx.example.org]:587" or "localhost[/run/lmtp]".
struct HostParts {
    std::string_view name, address, port;
};
HostParts parts_of(std::string_view host) {
    const auto open = host.find('['), close = host.find(']');
    if (open == host.npos || close == host.npos) return {host, host, host.empty() ? "" : "25"};
    const auto inside = host.substr(open + 1, close - open - 1);
    const auto port = host.substr(std::min(close + 1, host.size()));
    return {open == 0 ? inside : host.substr(0, open), inside, port.starts_with(':') ? port.substr(1) : "25"};
}

} // namespace

// Unknown values are shown in angle brackets, for the reader to fill in.
std::string advice(const DeliveryFailure& failure) {
    const auto known = [](std::string_view value, std::string_view otherwise) {
        return value.empty() ? otherwise : value;
    };
    std::string text(find(failure));
    const auto [name, address, port] = parts_of(failure.host);
    put(text, "HOST", known(name, "<host>"));
    if (address.contains(':')) put(text, "ADDRESS:", "[" + std::string(address) + "]:");
    put(text, "ADDRESS", known(address, "<address>"));
    put(text, "PORT", known(port, "<port>"));
    put(text, "DOMAIN", known(failure.domain, "<domain>"));
    put(text, "RECIPIENT", known(failure.recipient, "<recipient>"));
    put(text, "POOL", known(failure.pool, "<pool>"));
    put(text, "USER", known(failure.user, "the mail system's user"));
    return text;
}

} // namespace decide
