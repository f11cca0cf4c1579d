// The keys of what is asked before mail is taken.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/server/filters.h"
#include "daemons/common/lookup/format/header_checks.h"
#include "libsmtp/message/address.h"

namespace config {

using namespace std::chrono_literals;

namespace {

constexpr EnumValue<Stage> stages[] = {{"connect", Stage::connect}, {"helo", Stage::helo},
                                  {"mail", Stage::mail},       {"rcpt", Stage::rcpt},
                                  {"data", Stage::data},       {"end_of_data", Stage::end_of_data}};
constexpr EnumValue<OnFailure> policy_failures[] = {
    {"accept", OnFailure::accept}, {"tempfail", OnFailure::tempfail}, {"reject", OnFailure::reject}};

constexpr EnumValue<OnFailure> milter_failures[] = {{"accept", OnFailure::accept},
                                               {"tempfail", OnFailure::tempfail},
                                               {"reject", OnFailure::reject},
                                               {"quarantine", OnFailure::quarantine}};

ListKey header_checks(std::vector<std::string>& values) {
    return list_of<std::string>(values, [](std::string_view text, std::string& value) -> std::string {
        value = text;
        const auto read = common::HeaderChecks::parse({&value, 1});
        return read ? "" : fmt::format("\"{}\": {}", smtp::printable(text, 100), read.error().why);
    });
}

std::string read_address(std::string_view text, std::string& value) {
    const auto mailbox = smtp::Mailbox::parse(text);
    if (!mailbox) return fmt::format("\"{}\" is not an address: {}", text, mailbox.error().why);
    value = mailbox->text();
    return "";
}

// Lines "pattern address": "ann@example.org archive@example.org", "@example.org archive@example.org".
ListKey copy_rules(std::map<std::string, std::string, std::less<>>& values) {
    return {[&] { values.clear(); },
            [&](std::string_view text) -> std::string {
                const auto blank = text.find_first_of(" \t");
                const auto rest = blank == text.npos ? blank : text.find_first_not_of(" \t", blank);
                if (rest == text.npos)
                    return fmt::format("\"{}\": expected whose mail and who gets the copy, such as "
                                       "\"ann@example.com archive@example.com\"",
                                       text);
                const auto whose = text.substr(0, blank);
                std::string mailbox, to;
                if (whose.starts_with('@') ? domain_name(whose.substr(1)).empty()
                                           : !read_address(whose, mailbox).empty())
                    return fmt::format("\"{}\" is neither an address nor \"@domain\"", whose);
                if (auto wrong = read_address(text.substr(rest), to); !wrong.empty()) return wrong;
                if (!values.emplace(smtp::lowered(whose), std::move(to)).second)
                    return fmt::format("\"{}\" is listed twice", whose);
                return "";
            },
            [&] {
                std::vector<std::string> shown;
                for (const auto& [whose, to] : values) shown.push_back(whose + " " + to);
                return shown;
            }};
}

constexpr std::string_view about_listeners =
    "Names of the listeners whose clients this concerns. By default those whose service is \"relay\".";

} // namespace

Section section_for(PolicyService& s) {
    return {
        "policy.<name>",
        "A policy server (postgrey, policyd-spf and others that speak Postfix's policy delegation protocol), "
        "asked about clients that are not in relay.networks. Several are asked in the order of their names, "
        "until one refuses.",
        {
            {"address", service_address(s.address), "Where it listens.", "\"inet:127.0.0.1:10023\""},
            {"stage", one_of(s.stage, stages),
             "When it is asked: \"connect\", \"helo\", \"mail\", \"rcpt\" (for each recipient), \"data\" or "
             "\"end_of_data\".",
             ""},
            {"timeout", DurationKey{&s.timeout, 100ms, 10min}, "How long its answer is waited for.", ""},
            {"busy_timeout", DurationKey{&s.busy_timeout, 100ms, 10min},
             "The same while all connections are in use and further questions wait: questions that the server "
             "does not answer keep no others from it for longer.",
             ""},
            {"on_failure", one_of(s.on_failure, policy_failures),
             "What a client is told when there is no answer: \"accept\" goes on without, \"tempfail\" is 451 "
             "4.3.5, \"reject\" is 554 5.3.5.",
             ""},
            {"connections", IntKey{&s.connections, 1, 10'000},
             "Questions put at the same time, per process; further ones wait.", ""},
            {"listeners", non_empty_texts(s.listeners), about_listeners, "[\"smtp\"]"},
        }};
}

Section section_for(Milter& s) {
    return {
        "milter.<name>",
        "A mail filter (rspamd, opendkim, clamav-milter and others that speak the milter protocol). Several "
        "are "
        "asked in the order of their names; each sees what those before it have changed.",
        {
            {"address", service_address(s.address), "Where it listens.",
             "\"unix:/run/opendkim/opendkim.sock\""},
            {"connect_timeout", DurationKey{&s.connect_timeout, 100ms, 1h},
             "How long it may take to connect to it and to agree on what it wants to see.", ""},
            {"timeout", DurationKey{&s.timeout, 100ms, 1h}, "For its answer to anything but a whole message.", ""},
            {"message_timeout", DurationKey{&s.message_timeout, 100ms, 1h}, "For its verdict on a whole message.",
             ""},
            {"on_failure", one_of(s.on_failure, milter_failures),
             "What becomes of mail when the filter cannot be reached, is late, or makes no sense: \"accept\" "
             "goes on without it, \"tempfail\" is 451 4.7.1, \"reject\" is 550 5.7.1, \"quarantine\" takes "
             "the mail and holds it. What the filter had changed of a message by then is forgotten.",
             ""},
            {"listeners", non_empty_texts(s.listeners),
             "Names of the listeners whose mail it sees, by default all of them. \"local\" among them is "
             "the mail of programs on this host (sendmail), which it sees only if that is said. To the filter "
             "such mail comes from localhost [127.0.0.1].",
             "[\"smtp\", \"local\"]"},
        }};
}

Section section_for(Content& s) {
    return {"content",
            "What is looked at in every message on its way in, whether it comes over SMTP or from a program on this "
            "host. Reports of this system's own are not looked at.",
            {
                {"header_checks", header_checks(s.header_checks),
                 "Regular expressions (those of Perl) on the fields of the header, one rule in each text: a pattern "
                 "between two equal characters, flags, an action, its text. Rules are tried on each field from the top, "
                 "our own Received field included; the first that matches a field decides what becomes of it. REJECT "
                 "[text] refuses the message (550 5.7.1, or the enhanced status the text begins with), DISCARD [text] "
                 "takes it and throws it away, HOLD [text] keeps it in the queue, REDIRECT address sends it there "
                 "instead, WARN [text] writes a log line, PREPEND field puts a field before this one, REPLACE field "
                 "puts it in its place, IGNORE takes the field out, DUNNO leaves it alone. $1 and ${1} in the text are "
                 "what the pattern's groups caught. \"!\" before the pattern turns it over. Flags, as in "
                 "pcre_table(5): i minds upper and lower case, s keeps \".\" from matching line ends, m, x, A, E, U. A "
                 "folded field is matched with its line ends (LF). The fields of a message's parts and of messages "
                 "inside it are not looked at. A pattern that takes too long is left out "
                 "for the rest of the message, and the log says so.",
                 "['/^Subject:.*make money fast/ REJECT no advertisements', '/^X-Mailer:/ IGNORE']"},
            }};
}

Section section_for(AutomaticBcc& s) {
    return {
        "copies",
        "Copies of mail for an archive or a supervisor, added when a message is accepted, over SMTP or from a "
        "program on this host. Nobody sees from the message who gets a copy, its sender is told nothing of what "
        "becomes of it, and who has the message anyway gets it once. Reports of this system's own are not copied.",
        {
            {"always",
             list_of<std::string>(s.always,
                                  [](std::string_view text, std::string& to) { return read_address(text, to); }),
             "These get a copy of everything.", "[\"archive@example.com\"]"},
            {"by_sender", copy_rules(s.by_sender),
             "Copies of what an envelope sender sends: \"ann@example.com boss@example.com\", or for a whole domain "
             "\"@example.com boss@example.com\". The address counts before the address without its extension, and "
             "that before the domain.",
             "[\"ann@example.com boss@example.com\"]"},
            {"by_recipient", copy_rules(s.by_recipient),
             "Copies of what is sent to a recipient; written the same way. The copies that other rules add are not "
             "themselves looked up.",
             "[\"@example.com archive@example.com\"]"},
        }};
}

Section section_for(DnsList& s) {
    return {"dns_list.\"<zone>\"",
            "A list in the DNS that names good or bad client addresses. The weights of all lists that name a "
            "client are added; from smtpd.dns_list_threshold on its recipients are refused with 554 5.7.1. "
            "Clients in relay.networks are not looked up, and postmaster may be written to by everybody.",
            {
                {"weight", IntKey{&s.weight, 1, 1000}, "How much this list counts.", ""},
                {"allow", BoolKey{&s.allow}, "The list names good clients: its weight is taken off.", ""},
                {"answers", networks(s.answers),
                 "Only such answers count. Those in 127.255.255.0/24 never do: lists say with them that they "
                 "refuse to answer.",
                 ""},
                {"listeners", non_empty_texts(s.listeners), about_listeners, "[\"smtp\"]"},
            }};
}

} // namespace config
