#include "daemons/decide/outcome/advice.h"
#include <algorithm>
#include <cerrno>

namespace decide {

namespace {

using smtp::Stage;
using Where = DeliveryFailure::Where;

// In which way a conversation failed.
enum class How : std::uint8_t {
    any,
    said,      // a server's word
    silent,    // nobody's
    broken,    // the connection went away
    garbled,   // what came is no SMTP
    unnamed,   // connect: to whom is not at hand
    no_source, // … none of the pool's addresses is to be had …
    no_socket, // … through a UNIX socket: it is not there …
    shut,      // … may not be used …
    unheard,   // … or has nobody behind it
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
     "The domain is ours and nobody in it has that name. Look at [local] (domains, users, aliases)."},
    {Where::recipient, Stage::none, ".3.0", "A table could not be read. The log names it; mail waits until it can."},
    {Where::recipient, Stage::none, ".3.5",
     "Something here is to be mended first: an alias, a table or a setting, as the text says. Mail waits until then, and "
     "goes on by itself."},
    {Where::recipient, Stage::none, "",
     "The address itself leads nowhere. Look at [local], the aliases and virtual tables."},

    {Where::suppression, Stage::none, "",
     "This system's own suppression list says that nothing is sent there. postrider suppress check RECIPIENT shows the "
     "entry, postrider suppress remove RECIPIENT takes it off; say @ and the domain where it stands for the whole domain."},

    {Where::route, Stage::none, ".1.10",
     "The domain itself says that it takes no mail (null MX). Nothing can be done here; mail for it is returned."},
    {Where::route, Stage::none, ".4.6",
     "The domain's mail leads back to this host. Either it is to be delivered here (local.domains), or its MX "
     "records or its [route] must name another host."},
    {Where::route, Stage::none, ".4.3",
     "The name servers gave no answer that can be relied on. Are they the right ones (dns.servers; without it, "
     "/etc/resolv.conf), and does no firewall stand between? Ask them by hand: dig MX DOMAIN. Mail goes "
     "on by itself when they answer."},
    {Where::route, Stage::none, ".4.4",
     "The domain has no host for mail. Compare: dig MX DOMAIN; dig A DOMAIN. If it is right in the DNS of the world, "
     "look at dns.servers."},
    {Where::route, Stage::none, ".1.2", "There is no such domain. Is it spelt right? Compare: dig MX DOMAIN."},
    {Where::route, Stage::none, "", "Look at the domain's [route] and at dns.servers."},

    {Where::service, Stage::none, ".4.6",
     "What DOMAIN names for submission is this host itself. The [route] must name another one."},
    {Where::service, Stage::none, ".4.3",
     "The name servers gave no answer that can be relied on. Are they the right ones (dns.servers; without it, "
     "/etc/resolv.conf), and does no firewall stand between? Ask them by hand: dig SRV "
     "_submissions._tcp.DOMAIN. Mail goes on by itself when they answer."},
    {Where::service, Stage::none, "",
     "The [route] sends by \"srv:DOMAIN\", and its DNS names no host that takes submitted mail. Compare: dig SRV "
     "_submissions._tcp.DOMAIN; dig SRV _submission._tcp.DOMAIN. If the provider publishes none, name its host in "
     "next_hop: \"[smtp.DOMAIN]:587\", or whatever it says."},

    {Where::records, Stage::none, "",
     "Mail goes to a host with TLSA records only by TLS with a certificate that they name; with tls = \"dane-only\" it "
     "must have some. Often the certificate was renewed and the record was not: its postmaster can mend that. Or "
     "somebody stands between. Compare: dig +dnssec TLSA _PORT._tcp.HOST; openssl s_client -starttls smtp -connect "
     "ADDRESS:PORT."},
    {Where::policy, Stage::none, "",
     "The domain's MTA-STS policy lets mail go only to hosts that it names, by TLS, with a certificate that a trusted "
     "authority (smtp_client.tls_ca_file) gave to that name. If it does not fit, the domain's postmaster can mend "
     "it. Compare: dig MX DOMAIN; curl https://mta-sts.DOMAIN/.well-known/mta-sts.txt."},

    {Where::conversation, Stage::lookup, ".4.3",
     "The name servers gave no answer about the host that can be relied on. Are they the right ones (dns.servers; without "
     "it, /etc/resolv.conf)? Ask them by hand: dig A HOST. Mail goes on by itself when they answer."},
    {Where::conversation, Stage::lookup, "",
     "The host has a name and no address. Compare: dig A HOST; dig AAAA HOST. Look at dns.servers, and at "
     "smtp_client.ipv4 and ipv6."},
    {Where::conversation, Stage::connect, ".3.5",
     "A [route], pools.by_sender or the mail itself names the pool POOL, which the configuration does not have. Write "
     "[pool.POOL] with its addresses, or name another one."},
    {Where::conversation, Stage::connect, "",
     "Mail goes out by the pool POOL, and none of its addresses can be used toward that host. Compare [pool.POOL] with the "
     "addresses that this host has: ip address.",
     How::no_source},
    {Where::conversation, Stage::connect, "",
     "There is no socket ADDRESS. Does the server that makes it run, and does it make it there? Compare: ls -l ADDRESS; "
     "ss -xl. The path is that of \"lmtp:\" in the configuration.",
     How::no_socket},
    {Where::conversation, Stage::connect, "",
     "The socket ADDRESS may not be used by USER, who delivers: it takes the right to write to it, and to enter each "
     "directory before it. Compare: namei -l ADDRESS. Whoever makes the socket sets its mode, user and group (Dovecot: "
     "unix_listener).",
     How::shut},
    {Where::conversation, Stage::connect, "",
     "Nobody answers at the socket ADDRESS. Does the server that made it still run? Compare: ls -l ADDRESS; ss -xl. It "
     "must let USER write, who delivers.",
     How::unheard},
    {Where::conversation, Stage::connect, "",
     "Nobody answers there. Is it the right host and port, or socket, does the server run, and does no firewall stand "
     "between (many networks shut port 25 to the outside)? Compare from this host: nc -vz with the address and port that "
     "the reason names; ls -l of a socket. If 25 is shut, send by a relay: [route.\"*\"].",
     How::unnamed},
    {Where::conversation, Stage::connect, "",
     "Nobody answers there. Is it the right host and port, and does no firewall stand between (many networks shut "
     "port 25 to the outside)? Compare from this host: nc -vz ADDRESS PORT. If 25 is shut, send by a relay: "
     "[route.\"*\"]."},

    {Where::conversation, Stage::none, "",
     "The server wants no more now: too many connections or messages, or it is shut for a while. Mail is tried again by "
     "itself, with fewer connections. If it stays so, its text says why; connections, messages_per_second and "
     "messages_per_hour of the domain's [route] keep us below its limits.",
     How::said, 421},
    {Where::conversation, Stage::banner, "",
     "The host takes the connection and does not greet. Often its port begins with TLS (465 does: implicit_tls = true in the "
     "[route]); openssl s_client -connect ADDRESS:PORT shows that. Or it makes strangers wait (a tarpit) for longer than "
     "smtp_client.greeting_timeout.",
     How::silent},
    {Where::conversation, Stage::banner, "",
     "The conversation broke off before a greeting. The server, or a firewall before it, hangs up on this host (a block "
     "list, too many connections), or the port begins with TLS (implicit_tls = true in the [route]). Compare from this host: nc "
     "ADDRESS PORT; openssl s_client -connect ADDRESS:PORT.",
     How::broken},
    {Where::conversation, Stage::banner, "",
     "What answers there does not greet as a mail server does. Is it the right host and port? See what it says: nc ADDRESS "
     "PORT.",
     How::garbled},
    {Where::conversation, Stage::banner, "",
     "The server turns this host away before a word is said. Its text says why; often a block list, a missing "
     "reverse name (PTR) of our address, or too many connections."},
    {Where::conversation, Stage::ehlo, "",
     "The server greets, and says nothing to EHLO. It makes strangers wait (a tarpit) or looks our address up in vain, for "
     "longer than smtp_client.command_timeout; or a firewall reads along. Compare from another host: nc ADDRESS PORT.",
     How::silent},
    {Where::conversation, Stage::ehlo, "",
     "The conversation broke off at EHLO: the server does not want this host, or a firewall that reads along does not like "
     "the command. Compare: nc ADDRESS PORT, and EHLO by hand.",
     How::broken},
    {Where::conversation, Stage::ehlo, "",
     "What the server says to EHLO is no reply as SMTP has them. Something between may change it (a firewall, a proxy), or "
     "it is another service. See what it says: nc ADDRESS PORT.",
     How::garbled},
    {Where::conversation, Stage::ehlo, "",
     "The server does not like our greeting. mta.hostname (or smtp_client.helo) must be a full name that leads to "
     "this host's address, and the address back to it."},
    {Where::conversation, Stage::tls, ".7.4",
     "TLS is required for this domain and the server offers none. Ask its postmaster, or lower tls of the domain's "
     "[route]."},
    {Where::conversation, Stage::tls, "",
     "TLS from the first byte did not come about. If the port begins in plain text (25, 587), take implicit_tls out of the "
     "[route] and say tls = \"verify\" or \"encrypt\". Compare: openssl s_client -connect ADDRESS:PORT. A certificate is "
     "judged by smtp_client.tls_ca_file.",
     How::wrapped},
    {Where::conversation, Stage::tls, "",
     "TLS is required for this domain and did not come about. Compare: openssl s_client -starttls smtp -connect "
     "ADDRESS:PORT. A certificate is judged by smtp_client.tls_ca_file; how much is asked for, by tls of the "
     "domain's [route]."},
    {Where::conversation, Stage::none, "",
     "The server fell silent in the conversation. It may make strangers wait (a tarpit), or something it asks itself does "
     "not answer; mail is tried again. How long we wait is smtp_client.command_timeout.",
     How::silent},
    {Where::conversation, Stage::none, "",
     "What the server says is no reply as SMTP has them, or one to another question. Something between may change it (a "
     "firewall, a proxy); smtp_client.pipelining = false is worth a try.",
     How::garbled},
    {Where::conversation, Stage::none, "",
     "The conversation broke off. If that stays so, something between cuts it (a firewall that reads along, a wrong "
     "MTU); smtp_client.pipelining = false is worth a try.",
     How::broken},
    {Where::conversation, Stage::auth, ".7.4",
     "We have an account for this server (smtp_client.credentials), and it offers no AUTH that could be used. Many offer it "
     "only behind TLS (tls = \"verify\" of the [route]) or at the port for submission: 587, or 465 with implicit_tls = true. "
     "Compare: openssl s_client -starttls smtp -connect ADDRESS:PORT, and EHLO by hand. Which mechanisms may be used, and "
     "whether at all, auth of the [route] says."},
    {Where::conversation, Stage::auth, "",
     "We have an account for this server (smtp_client.credentials) and could not authenticate. Is the password right? "
     "Which mechanisms may be used, and whether at all, auth of the domain's [route] says."},
    {Where::conversation, Stage::none, "",
     "The server wants to know who sends: it takes mail only from those who authenticate. Put the account that it gave you "
     "into smtp_client.credentials; postrider-credentials(5) shows how.",
     How::said, 530},
    {Where::conversation, Stage::mail, "",
     "The server puts this off: a limit of its own, or a look-up of the sender's domain that failed there. Mail is tried again "
     "by itself; if it stays so, its text says why.",
     How::said, 4},
    {Where::conversation, Stage::mail, "",
     "The server does not take this sender. Try another one (--from), and look whether SPF allows this host for its "
     "domain."},
    {Where::conversation, Stage::rcpt, ".1.1", "The server knows nobody of that name. Ask for the right address."},
    {Where::conversation, Stage::rcpt, ".2.1",
     "The mailbox is shut. Only its owner or the postmaster there can help."},
    {Where::conversation, Stage::rcpt, ".2.2", "The mailbox is full. Only its owner can help."},
};

constexpr std::string_view rcpt_temporary =
    "Not now. Greylisting ends by itself: mail is tried again and gets through, usually within the hour. If it "
    "stays so, the server's text says why.";
constexpr std::string_view rcpt_permanent =
    "The server refuses this recipient. \"Relay\" in its text: it does not serve that domain, or only whoever "
    "authenticates; look at the MX records and the domain's [route].";

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

// What is not known stands in angle brackets, for the reader to fill in.
std::string advice(const DeliveryFailure& failure) {
    const auto known = [](std::string_view value, std::string_view otherwise) { return value.empty() ? otherwise : value; };
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
