#include "daemons/postrider/table/glossary.h"
#include <algorithm>

namespace postrider {
namespace {

// As in postrider-glossary(7); a test compares them.
constexpr Term terms[] = {
    {"agent", "A process that delivers mail: smtp-client or local."},
    {"attempt", "One try to deliver a message to one or more of its recipients. The spool file records each "
                "attempt with the reply and the source address."},
    {"back off", "To wait longer before the next attempt after a failure. The retry schedule says how long."},
    {"bounce", "A report to the sender that a message could not be delivered. Also the daemon that writes these "
               "reports."},
    {"categorizer", "The daemon that determines what a recipient address stands for: a user on this host, an alias, "
                    "an address elsewhere, or no valid address."},
    {"control socket", "The socket on which the queue-manager takes commands from postrider(1)."},
    {"deferred", "Not delivered yet because of a temporary failure. A deferred recipient is retried until it is "
                 "delivered or the message expires."},
    {"delay notice", "A report to the sender that a message has not been delivered yet and is still being retried."},
    {"delivery", "The recipients of one message in one queue. They are handed to an agent together."},
    {"down", "The state of a link to a configured next hop that has been in retry for link_down_after (5 "
             "minutes). Its mail moves to the next hop that follows in the route, if there is one."},
    {"DSN", "Delivery status notification (RFC 3464): the format of reports of failure, delay and success."},
    {"envelope", "The sender and the recipients given with MAIL and RCPT, as opposed to the header fields of the "
                 "message."},
    {"expire", "To reach the end of the time a message may stay in the queue (5 days by default). Its sender "
               "gets a report for every recipient that is left."},
    {"failover", "The move of mail from a next hop that is down to the one that follows in its route."},
    {"glitch", "A failure that has happened only once or twice in a row. The link, queue or recipient concerned "
               "waits glitch_interval (1 minute) before the next attempt."},
    {"held", "Not delivered until an operator releases the message."},
    {"hook", "A web server or command to which events of the journal are pushed."},
    {"host", "A machine that serves a next hop: one of the names in a domain's MX records or in a route."},
    {"idempotency key", "A name that a sender gives to a submission. Another submission with the same key is not "
                        "accepted as a second message."},
    {"in doubt", "An attempt whose result is unknown, because the connection was lost after the message was sent "
                 "and before the server replied. It is made again."},
    {"lane", "A part of a queue: high, normal, bulk, or problem messages. Lanes share the connections of a "
             "queue by weight."},
    {"link", "All queues that share one next hop. Connection limits, rates and health belong to the link."},
    {"NDR", "Non-delivery report: another name for a bounce."},
    {"next hop", "Where mail for a domain is sent: the hosts of its MX records, a configured relay, or an LMTP "
                 "server."},
    {"operator", "A person who administers the mail system."},
    {"pause", "An operator's order to deliver nothing from a queue, over a link, from a pool, or at all, until "
              "resumed."},
    {"pool", "A set of source addresses from which some mail is sent. A pool has queues and links of its own, "
             "named after it: example.org@bulk."},
    {"probe", "An attempt that tests whether a link that failed works again: one message, or a connection "
              "without a message."},
    {"problem message",
     "A message that failed twice by itself, not because of its host or network. It moves to the last "
     "lane of its queue, so that it does not delay other mail."},
    {"quarantine", "The folder of the spool for files that cannot be read. They are deleted after "
                   "spool.quarantine_age, or earlier, oldest first, when together they exceed spool.quarantine_size."},
    {"queue", "The mail for one final destination (a domain, or the mailboxes on this host) from one pool."},
    {"queue id", "The name of a message in the spool and in the log: 14 hexadecimal digits."},
    {"ready", "The state of a link or queue without a current failure."},
    {"relay", "To accept mail for a domain elsewhere and to send it on. Also a host that does so."},
    {"retry", "The state of a link, queue or recipient that has failed glitch_count (3) times in a row. It is "
              "tried again after 10 minutes, three times, and from then on every 15 minutes."},
    {"retry policy", "A named retry schedule that replaces the default one for a route, a sender or a message."},
    {"retry schedule", "The waits between attempts."},
    {"route", "A rule that says where mail for a domain is sent and how."},
    {"router", "The daemon that determines the next hop of a domain."},
    {"spool", "The directory that holds all messages, each in one file, from acceptance until every recipient "
              "is accounted for."},
    {"submitter", "The origin of a message, for sharing a queue fairly: an authenticated user, the owner of "
                  "a client certificate that may relay, a user of this host, or a client network together with the "
                  "sender's domain."},
    {"suppression", "The list of recipients to which no mail is sent, because an operator listed them or because "
                    "their server rejected them permanently."},
};

} // namespace

std::span<const Term> glossary() { return terms; }

std::string glossary_text(std::size_t width) {
    constexpr std::string_view indent = "    ";
    std::string out;
    for (const auto& term : terms) {
        out += term.name;
        auto column = width; // the first word begins a line
        for (auto rest = term.meaning; !rest.empty();) {
            const auto word = rest.substr(0, rest.find(' '));
            rest.remove_prefix(std::min(word.size() + 1, rest.size()));
            if (column + 1 + word.size() > width) {
                out.append("\n").append(indent);
                column = indent.size();
            } else {
                out += ' ';
                ++column;
            }
            out += word;
            column += word.size();
        }
        out += '\n';
    }
    return out;
}

} // namespace postrider
