// The keys of what is asked before mail is taken.
#include "daemons/common/config/kinds.h"

namespace config {

using namespace std::chrono_literals;

namespace {

constexpr Word<Stage> stages[] = {{"connect", Stage::connect}, {"helo", Stage::helo},
                                  {"mail", Stage::mail},       {"rcpt", Stage::rcpt},
                                  {"data", Stage::data},       {"end_of_data", Stage::end_of_data}};
constexpr Word<OnFailure> policy_failures[] = {
    {"accept", OnFailure::accept}, {"tempfail", OnFailure::tempfail}, {"reject", OnFailure::reject}};

constexpr Word<OnFailure> milter_failures[] = {{"accept", OnFailure::accept},
                                               {"tempfail", OnFailure::tempfail},
                                               {"reject", OnFailure::reject},
                                               {"quarantine", OnFailure::quarantine}};

Text service_address(common::ServiceAddress& value) {
    return {[&](std::string_view text) -> std::string {
                const auto read = common::ServiceAddress::parse(text);
                if (!read)
                    return fmt::format("\"{}\" is not a service such as \"unix:/run/x.sock\" or "
                                       "\"inet:127.0.0.1:10023\"",
                                       text);
                value = *read;
                return "";
            },
            [&] { return value.to_string(); }};
}

constexpr std::string_view about_listeners =
    "Names of the listeners whose clients this concerns. By default those whose service is \"relay\".";

} // namespace

Section table_of(PolicyService& s) {
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
            {"timeout", Span{&s.timeout, 100ms, 10min}, "How long its answer is waited for.", ""},
            {"on_failure", one_of(s.on_failure, policy_failures),
             "What a client is told when there is no answer: \"accept\" goes on without, \"tempfail\" is 451 "
             "4.3.5, \"reject\" is 554 5.3.5.",
             ""},
            {"connections", Count{&s.connections, 1, 10'000},
             "Questions put at the same time, per process; further ones wait.", ""},
            {"listeners", words(s.listeners), about_listeners, "[\"smtp\"]"},
        }};
}

Section table_of(Milter& s) {
    return {
        "milter.<name>",
        "A mail filter (rspamd, opendkim, clamav-milter and others that speak the milter protocol). Several "
        "are "
        "asked in the order of their names; each sees what those before it have changed.",
        {
            {"address", service_address(s.address), "Where it listens.",
             "\"unix:/run/opendkim/opendkim.sock\""},
            {"timeout", Span{&s.timeout, 100ms, 1h}, "For its answer to anything but a whole message.", ""},
            {"message_timeout", Span{&s.message_timeout, 100ms, 1h}, "For its verdict on a whole message.",
             ""},
            {"on_failure", one_of(s.on_failure, milter_failures),
             "What becomes of mail when the filter cannot be reached, is late, or makes no sense: \"accept\" "
             "goes on without it, \"tempfail\" is 451 4.7.1, \"reject\" is 550 5.7.1, \"quarantine\" takes "
             "the mail and holds it. What the filter had changed of a message by then is forgotten.",
             ""},
            {"listeners", words(s.listeners),
             "Names of the listeners whose mail it sees, by default all of them. Mail from programs on this "
             "host (sendmail) goes by no filter.",
             "[\"smtp\"]"},
        }};
}

Section table_of(DnsList& s) {
    return {"dns_list.\"<zone>\"",
            "A list in the DNS that names good or bad client addresses. The weights of all lists that name a "
            "client are added; from smtpd.dns_list_threshold on its recipients are refused with 554 5.7.1. "
            "Clients in relay.networks are not looked up, and postmaster may be written to by everybody.",
            {
                {"weight", Count{&s.weight, 1, 1000}, "How much this list counts.", ""},
                {"allow", Flag{&s.allow}, "The list names good clients: its weight is taken off.", ""},
                {"answers", networks(s.answers),
                 "Only such answers count. Those in 127.255.255.0/24 never do: lists say with them that they "
                 "refuse to answer.",
                 ""},
                {"listeners", words(s.listeners), about_listeners, "[\"smtp\"]"},
            }};
}

} // namespace config
