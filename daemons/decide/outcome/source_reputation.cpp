#include "daemons/decide/outcome/source_reputation.h"
#include "libsmtp/protocol/reply.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <span>
#include <string>

namespace decide {
namespace {

using Words = std::string_view;

// Enhanced codes that mean the address and nothing else.
struct Codes {
    int klass; // 0: either
    int subject, first, last;
};
constexpr Codes of_source[] = {
    {0, 7, 25, 25},   // RFC 7372: reverse DNS validation failed; Gmail has it, too
    {5, 7, 511, 511}, // Microsoft's "NDRs in Exchange Online": banned sender, with the address …
    {5, 7, 513, 513}, // … client host blocked by the recipient's domain
    {5, 7, 606, 649}, // … banned sending IP
    {5, 7, 708, 708}, // … traffic not accepted from this IP
    {4, 7, 500, 699}, // … suspicious activity on the connecting address; throttled for its reputation
};

// These concern the sender, the recipient, or permission to send through that server, whatever else the reply says.
// clang-format off
constexpr Words of_envelope[] = {
    "sender address", "recipient address", "sender verify", "user unknown", "unknown user", "no such user",
    "no such recipient", "mailbox", "does not exist", "suppress", "opted out", // the sender, the recipient
    "relay access denied", "relay denied", "relaying denied", "relay not permitted", "relaying not", "unable to relay",
    "cannot relay", "permitted to relay", "allowed to relay", "not relay", "no relaying", "relay prohibited",
    "authentication required", "must authenticate", "not authenticated", "authenticate first", // who may send
    "greylist", "graylist", "grey list", "grey-list", // ends by itself, for the same address
    // Lists of domains: Spamhaus DBL and ZRD, SURBL, URIBL, Abusix dblack.
    "dbl.spamhaus", "dbl.dq.spamhaus", "zrd.dq.spamhaus", "spamhaus.org/query/domain", "spamhaus.org/dbl", "surbl.org",
    "uribl.com", "dblack.mail.abusix", "rhsbl",
    "reputation of the sending domain", "reputation of the domain", // Gmail
};
// clang-format on

// These concern the source address.
// clang-format off
constexpr Words of_address[] = {
    // Postfix: default_rbl_reply of clients, access tables, reject_unknown_client_hostname; HELO is per address here.
    "client host [", "client host rejected", "helo command rejected",
    "in a black list at", // Exim's documentation of dnslists
    // Gmail ("Gmail SMTP errors and codes").
    "reputation of the sending ip", "originating from your ip", "sent from your ip", "ptr record", "reverse dns",
    // Outlook.com and Exchange Online.
    "banned sending ip", "on our block list", "on our blocklist", "due to ip reputation", "not accepted from this ip",
    "accepting mail from your ip",
    // Yahoo and AOL ("SMTP error codes", TSS04, TS03, BL21; RTR:BL, RLY:B).
    "user complaints", "permanently deferred", "in spamhaus's list", "(rtr:bl", "(rly:b",
    "dnsbl-lookup.cgi", "ipcheck.proofpoint.com", // Proofpoint, iCloud
    "found on one or more dnsbls", "found on one or more rbls", // Comcast, Cox, Cloudflare
    "mta's poor reputation", "sbrs score", "poor reputation sender", // Cisco, Amazon, Mimecast
    "email reputation database",                                       // Trend Micro
    "bad dns ptr", "dynamic ip", // GMX, and lists of dial-up lines
    // Zones and pages of lists of addresses.
    "zen.spamhaus", "zen.dq.spamhaus", "sbl.spamhaus", "xbl.spamhaus", "pbl.spamhaus", "css.spamhaus",
    "sbl-xbl.spamhaus", "spamhaus.org/query/ip", "spamhaus.org/sbl", "spamhaus.org/pbl", "bl.spamcop.net", "spamcop.net/bl",
    "barracudacentral.org", "barracudanetworks.com/reputation", "cbl.abuseat.org", "mail.abusix.zone", "dnsbl.sorbs.net",
    "psbl.surriel.com", "psbl.org", "dnsbl.manitu.net", "truncate.gbudb.net", "bl.mailspike.net", "uceprotect.net",
    "junkemailfilter.com", "blocklist.de", "bl.score.senderscore", "spamrats.com", "dnsbl.dronebl.org",
    "backscatterer.org", "mail-abuse.com", "mail-abuse.org",
};
// clang-format on

// These concern the content or the volume of the mail.
constexpr Words of_mail[] = {
    "spf",
    "dkim",
    "dmarc",
    "too many",
    "too much",
    "rate limit",
    "connection limit",
    "quota",
    "virus",
    "malware",
    "phish",
    "attachment",
    "content",
    "this message",
    "your message looks",
    "url",
    "header",
    "sending domain",
    "sender domain",
    "from domain",
};

// If none of these matches: words for the address …
constexpr Words namings[] = {"your ip",   "sending ip",      "connecting ip", "source ip",       "client ip",
                             "remote ip", "your ip address", "your server",   "your mailserver", "your mail server",
                             "your host", "your network",    "ip address"};
// … and complaints about it.
constexpr Words blames[] = {
    "block",   "black",      "listed",      "list at",     "deny list", "reputation", "banned", "denied", "reject",
    "refus",   "spam",       "unsolicited", "abus",        "complain",  "rdns",       "ptr",    "dnsbl",  "rbl",
    "reverse", "not accept", "not allowed", "not welcome", "no access", "forbidden",  "policy"};

bool is_word(char c) { return smtp::is_letter(c) || smtp::is_digit(c); }

// From the beginning of a word on. Everything is in lower case.
bool speaks(std::string_view text, Words of) {
    for (auto at = text.find(of); at != text.npos; at = text.find(of, at + 1))
        if (at == 0 || !is_word(text[at - 1]) || !is_word(of.front())) return true;
    return false;
}

std::string_view first_of(std::string_view text, std::span<const Words> words) {
    const auto found = std::ranges::find_if(words, [&](Words each) { return speaks(text, each); });
    return found == words.end() ? Words() : *found;
}

// As a whole: not "192.0.2.1" in "192.0.2.10", "x192.0.2.1" or "192.0.2.1.example".
bool names(std::string_view text, std::string_view what) {
    const auto part = [](char c) { return is_word(c) || c == '-'; };
    const bool v6 = what.find(':') != what.npos;
    for (auto at = text.find(what); !what.empty() && at != text.npos; at = text.find(what, at + 1)) {
        const char before = at > 0 ? text[at - 1] : ' ';
        const auto end = at + what.size();
        const char after = end < text.size() ? text[end] : ' ', behind = end + 1 < text.size() ? text[end + 1] : ' ';
        const bool goes_on = part(after) || ((after == '.' || after == ':') && part(behind) && !(after == ':' && !v6));
        if (!part(before) && before != '.' && !(v6 && before == ':') && !goes_on) return true;
    }
    return false;
}

bool means_source(const smtp::EnhancedStatus& status) {
    return std::ranges::any_of(of_source, [&](const Codes& each) {
        return (each.klass == 0 || each.klass == status.klass) && each.subject == status.subject &&
               each.first <= status.detail && status.detail <= each.last;
    });
}

// X.1.n, X.2.n: addresses and mailboxes of the mail; X.6.n: its content.
bool means_mail(const smtp::EnhancedStatus& status) {
    return (status.subject == 1 || status.subject == 2 || status.subject == 6) && status.detail != 0;
}

// X.7.20 … 27 but 25: DKIM, SPF, several checks, a sender's null MX (RFC 7372, 7505); Gmail continues from there.
bool means_sender(const smtp::EnhancedStatus& status) {
    return status.subject == 7 && status.detail >= 20 && status.detail <= 32 && status.detail != 25 &&
           status.detail != 28;
}

} // namespace

std::string_view blames_source(const Observation& seen, std::string_view said, const SourceIdentity& from) {
    using smtp::Stage;
    if (seen.code < 400 || seen.stage < Stage::mail || seen.stage > Stage::final_dot) return {};
    const auto status = smtp::EnhancedStatus::parse(seen.status).value_or(smtp::EnhancedStatus{});
    if (means_source(status)) return seen.status;
    const auto text = smtp::lowered(said);
    if (means_mail(status) || !first_of(text, of_envelope).empty()) return {};
    if (const auto words = first_of(text, of_address); !words.empty()) return words;
    if (means_sender(status) || !first_of(text, of_mail).empty() || first_of(text, blames).empty()) return {};
    if (names(text, smtp::lowered(from.address))) return from.address;
    if (names(text, smtp::lowered(from.name))) return from.name;
    return first_of(text, namings);
}

} // namespace decide
