// The keys of tests of clients.
#include "daemons/common/config/schema/value_types.h"
#include "daemons/common/config/sections/key_tables.h"
#include "daemons/common/config/sections/server/client_tests.h"

namespace config {

using namespace std::chrono_literals;
using decide::screening::Action;

namespace {

constexpr EnumValue<Action> test_actions[] = {
    {"ignore", Action::ignore}, {"enforce", Action::enforce}, {"drop", Action::drop}};
constexpr EnumValue<Action> session_test_actions[] = {
    {"off", Action::off}, {"ignore", Action::ignore}, {"enforce", Action::enforce}, {"drop", Action::drop}};

} // namespace

decide::screening::Settings screening_settings(const ClientTests& tests, std::chrono::microseconds greeting_delay,
                                               std::uint32_t threshold, bool lists) {
    decide::screening::Settings out;
    out.actions = {greeting_delay > 0s ? tests.early_talk : Action::off, lists ? tests.dns_lists : Action::off,
                   tests.pipelining, tests.non_smtp, tests.bare_newline};
    out.lifetimes = {tests.early_talk_lifetime, tests.dns_maximum_lifetime, tests.session_lifetime,
                     tests.session_lifetime, tests.session_lifetime};
    out.shortest_of_dns_lists = tests.dns_minimum_lifetime;
    out.threshold = threshold;
    out.allow_threshold = tests.allow_threshold;
    out.kept = tests.retention;
    out.most_waiting = tests.waiting;
    return out;
}

Section section_for(ClientTests& s) {
    return {
        "client_tests",
        "Tests of unknown clients before they may send mail, as postscreen makes them for Postfix, and a memory of the "
        "addresses that passed: such a client gets its greeting at once. The tests are those of "
        "smtpd.greeting_delay and [dns_list], and three during the session, which are off by default. While a client "
        "waits for its greeting, it is sent the first line of one (\"220-\"): a client that does not wait for the "
        "last line talks too early. Not tested are clients in relay.networks and xclient_networks, and listeners that "
        "are not listed. \"ignore\" logs a failed test, \"enforce\" rejects the client's recipients (550), unless it "
        "authenticates, \"drop\" closes the connection (521); what failed is tested again at the next connection. "
        "\"enforce\" rejects no recipient postmaster.",
        {
            {"enabled", BoolKey{&s.enabled},
             "Whether clients are tested and remembered. If false, smtpd.greeting_delay and [dns_list] apply to every "
             "connection.",
             ""},
            {"listeners", non_empty_texts(s.listeners),
             "Names of the listeners whose clients are tested. The default is all whose service is \"relay\".",
             "[\"smtp\"]"},
            {"tables", lookup_tables(s.tables),
             "Tables in which the client's address is looked up before any test, in order: \"permit\" admits it "
             "without tests, \"reject\" applies denied_action, \"dunno\" ends the lookup in tables.",
             "[\"cidr:/etc/postrider/clients\"]"},
            {"allowed_networks", networks(s.allowed),
             "Addresses and networks whose clients are not tested, even if they are in denied_networks.",
             "[\"192.0.2.0/24\"]"},
            {"denied_networks", networks(s.denied), "Addresses and networks to whose clients denied_action applies.",
             "[\"198.51.100.0/24\"]"},
            {"denied_action", one_of(s.denied_action, test_actions),
             "What happens to clients that tables or denied_networks reject: \"ignore\" tests them as others.", ""},
            {"early_talk_action", one_of(s.early_talk, test_actions),
             "What happens to clients that send before the last line of the greeting; the test is made if "
             "smtpd.greeting_delay is set.",
             ""},
            {"early_talk_lifetime", DurationKey{&s.early_talk_lifetime, 1s, 365 * 24h},
             "How long a client that waited is remembered for it.", ""},
            {"dns_list_action", one_of(s.dns_lists, test_actions),
             "What happens to clients whose sum of [dns_list] weights reaches smtpd.dns_list_threshold. Lists that do "
             "not answer do not count.",
             ""},
            {"dns_list_timeout", DurationKey{&s.dns_timeout, 100ms, 1min},
             "Time limit for the answers of lists. The greeting is never sent before smtpd.greeting_delay is over or "
             "has been found needless.",
             ""},
            {"dns_list_minimum_lifetime", DurationKey{&s.dns_minimum_lifetime, 1s, 24h},
             "How long a client below the threshold is remembered for it at least, whatever the answers' TTL.", ""},
            {"dns_list_maximum_lifetime", DurationKey{&s.dns_maximum_lifetime, 1s, 365 * 24h},
             "How long a client below the threshold is remembered for it at most.", ""},
            {"dns_list_allow_threshold", IntKey{&s.allow_threshold, 0, 1000},
             "By how much the weights of lists of good clients must outweigh the others, for a client to be admitted "
             "without other tests. 0 means that all tests are made.",
             ""},
            {"pipelining_action", one_of(s.pipelining, session_test_actions),
             "What happens to clients that send a command before the reply to the one before it. Clients being tested "
             "are not offered PIPELINING. \"off\" makes no such test.",
             ""},
            {"non_smtp_action", one_of(s.non_smtp, session_test_actions),
             "What happens to clients that send a command of another protocol, or a header field instead of a "
             "command. Some of these are disconnected without this test as well.",
             ""},
            {"bare_newline_action", one_of(s.bare_newline, session_test_actions),
             "What happens to clients that end a command with a bare LF. Such a command is always rejected.", ""},
            {"session_lifetime", DurationKey{&s.session_lifetime, 1s, 365 * 24h},
             "How long a client that passed a test during the session is remembered for it. It has passed at the "
             "first recipient.",
             ""},
            {"maximum_waiting", IntKey{&s.waiting, 1, 100'000},
             "Maximum number of clients that wait for their greeting, per process; further ones get 421 4.3.2. "
             "Remembered clients do not wait.",
             ""},
            {"retention", DurationKey{&s.retention, 0s, 365 * 24h},
             "How long an address is kept after it has to be tested again: until then it is logged as PASS OLD, not "
             "PASS NEW, when it passes.",
             ""},
            {"maximum_memory", SizeKey{&s.max_size, 1 * MiB, 64 * 1024 * MiB},
             "Maximum size of the memory on disk (state/clients/ in the spool); an address takes about 200 bytes. When "
             "it is reached, further addresses are tested each time until others have expired. Changes take effect at "
             "the next start.",
             ""},
        }};
}

} // namespace config
