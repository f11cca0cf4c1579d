#include "daemons/decide/advice.h"
#include <algorithm>

namespace decide {

namespace {

using smtp::Stage;
using Where = Mishap::Where;

struct Row {
    Where where;
    Stage stage;             // none: any
    std::string_view status; // without its class; "": any
    std::string_view advice; // DOMAIN, HOST, ADDRESS, PORT and RECIPIENT stand for the mishap's
};

// The first row that fits counts.
constexpr Row table[] = {
    {Where::recipient, Stage::none, ".1.1",
     "The domain is ours and nobody in it has that name. Look at [local] (domains, users, aliases)."},
    {Where::recipient, Stage::none, ".3.0",
     "A table could not be read. The log names it; mail waits until it can."},
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
     "The name servers gave no answer. Are they the right ones (dns.servers; without it, /etc/resolv.conf), and does no "
     "firewall stand between? Ask them by hand: dig MX DOMAIN. Mail goes on by itself when they answer."},
    {Where::route, Stage::none, ".4.4",
     "The domain has no host for mail. Compare: dig MX DOMAIN; dig A DOMAIN. If it is right in the DNS of the world, "
     "look at dns.servers."},
    {Where::route, Stage::none, ".1.2",
     "There is no such domain. Is it spelt right? Compare: dig MX DOMAIN."},
    {Where::route, Stage::none, "", "Look at the domain's [route] and at dns.servers."},

    {Where::records, Stage::none, "",
     "Mail goes to a host with TLSA records only by TLS with a certificate that they name; with tls = \"dane-only\" it "
     "must have some. Often the certificate was renewed and the record was not: its postmaster can mend that. Or "
     "somebody stands between. Compare: dig +dnssec TLSA _PORT._tcp.HOST; openssl s_client -starttls smtp -connect "
     "ADDRESS:PORT."},
    {Where::policy, Stage::none, "",
     "The domain's MTA-STS policy lets mail go only to hosts that it names, by TLS, with a certificate that a trusted "
     "authority (smtp_client.tls_authorities) gave to that name. If it does not fit, the domain's postmaster can mend "
     "it. Compare: dig MX DOMAIN; curl https://mta-sts.DOMAIN/.well-known/mta-sts.txt."},

    {Where::conversation, Stage::lookup, ".4.3",
     "The name servers gave no answer about the host. Are they the right ones (dns.servers; without it, "
     "/etc/resolv.conf)? Ask them by hand: dig A HOST. Mail goes on by itself when they answer."},
    {Where::conversation, Stage::lookup, "",
     "The host has a name and no address. Compare: dig A HOST; dig AAAA HOST. Look at dns.servers, and at "
     "smtp_client.ipv4 and ipv6."},
    {Where::conversation, Stage::connect, "",
     "Nobody answers there. Is it the right host and port, and does no firewall stand between (many networks shut "
     "port 25 to the outside)? Compare from this host: nc -vz ADDRESS PORT. If 25 is shut, send by a relay: "
     "[route.\"*\"]."},
    {Where::conversation, Stage::banner, "",
     "The server turns this host away before a word is said. Its text says why; often a block list, a missing "
     "reverse name (PTR) of our address, or too many connections."},
    {Where::conversation, Stage::ehlo, "",
     "The server does not like our greeting. mta.hostname (or smtp_client.helo) must be a full name that leads to "
     "this host's address, and the address back to it."},
    {Where::conversation, Stage::tls, ".7.4",
     "TLS is required for this domain and the server offers none. Ask its postmaster, or lower tls of the domain's "
     "[route]."},
    {Where::conversation, Stage::tls, "",
     "TLS is required for this domain and did not come about. Compare: openssl s_client -starttls smtp -connect "
     "ADDRESS:PORT. A certificate is judged by smtp_client.tls_authorities; how much is asked for, by tls of the "
     "domain's [route]."},
    {Where::conversation, Stage::auth, "",
     "We have an account for this server (smtp_client.credentials) and could not authenticate. Is the password right? "
     "Which mechanisms may be used, and whether at all, auth of the domain's [route] says."},
    {Where::conversation, Stage::mail, "",
     "The server does not take this sender. Try another one (--from), and look whether SPF allows this host for its "
     "domain."},
    {Where::conversation, Stage::rcpt, ".1.1", "The server knows nobody of that name. Ask for the right address."},
    {Where::conversation, Stage::rcpt, ".2.1", "The mailbox is shut. Only its owner or the postmaster there can help."},
    {Where::conversation, Stage::rcpt, ".2.2", "The mailbox is full. Only its owner can help."},
};

constexpr std::string_view rcpt_temporary =
    "Not now. Greylisting ends by itself: mail is tried again and gets through, usually within the hour. If it "
    "stays so, the server's text says why.";
constexpr std::string_view rcpt_permanent =
    "The server refuses this recipient. \"Relay\" in its text: it does not serve that domain, or only whoever "
    "authenticates; look at the MX records and the domain's [route].";
constexpr std::string_view lost =
    "The conversation broke off. If that stays so, something between cuts it (a firewall that reads along, a wrong "
    "MTU); smtp_client.pipelining = false is worth a try.";

std::string_view find(const Mishap& mishap) {
    const auto status = mishap.status.substr(std::min<std::size_t>(1, mishap.status.size()));
    const bool spoke = mishap.where != Where::conversation || mishap.code != 0;
    const bool may_be_silent = mishap.stage <= Stage::connect || mishap.stage == Stage::tls;
    if (!spoke && !may_be_silent && mishap.status.starts_with("4.4")) return lost;
    for (const Row& row : table)
        if (row.where == mishap.where && (row.stage == Stage::none || row.stage == mishap.stage) &&
            (row.status.empty() || row.status == status))
            return row.advice;
    return mishap.code >= 500 || mishap.status.starts_with('5') ? rcpt_permanent : rcpt_temporary;
}

void put(std::string& text, std::string_view word, std::string_view value) {
    if (value.empty()) return;
    for (auto at = text.find(word); at != text.npos; at = text.find(word, at + value.size()))
        text.replace(at, word.size(), value);
}

} // namespace

std::string advice(const Mishap& mishap) {
    std::string text(find(mishap));
    const auto open = mishap.host.find('['), close = mishap.host.find(']');
    const auto name = mishap.host.substr(0, open);
    const bool reached = open != mishap.host.npos && close != mishap.host.npos;
    const auto address = reached ? mishap.host.substr(open + 1, close - open - 1) : name;
    put(text, "HOST", name);
    if (address.contains(':')) put(text, "ADDRESS:", "[" + std::string(address) + "]:");
    put(text, "ADDRESS", address);
    put(text, "PORT", reached ? mishap.host.substr(std::min(close + 2, mishap.host.size())) : "25");
    put(text, "DOMAIN", mishap.domain);
    put(text, "RECIPIENT", mishap.recipient);
    return text;
}

} // namespace decide
