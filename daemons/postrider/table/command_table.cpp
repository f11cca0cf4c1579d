// The table of commands, their help, and the check of a command line against it.
#include "daemons/postrider/table/command_table.h"
#include "daemons/common/terminal/exit_status.h"
#include "daemons/common/terminal/output.h"
#include "daemons/common/terminal/program_options.h"
#include "daemons/postrider/configuration/check.h"
#include "daemons/postrider/configuration/dkim_key.h"
#include "daemons/postrider/configuration/map.h"
#include "daemons/postrider/configuration/passwd.h"
#include "daemons/postrider/configuration/separate_programs.h"
#include "daemons/postrider/history/history_command.h"
#include "daemons/postrider/history/journal_commands.h"
#include "daemons/postrider/hooks/hook_commands.h"
#include "daemons/postrider/queue/drain.h"
#include "daemons/postrider/queue/erase.h"
#include "daemons/postrider/queue/list_commands.h"
#include "daemons/postrider/queue/modify_commands.h"
#include "daemons/postrider/queue/resend.h"
#include "daemons/postrider/queue/spool.h"
#include "daemons/postrider/queue/suppress.h"
#include "daemons/postrider/service/activate.h"
#include "daemons/postrider/service/fleet.h"
#include "daemons/postrider/service/reload.h"
#include "daemons/postrider/service/start_stop.h"
#include "daemons/postrider/service/status.h"
#include "daemons/postrider/service/top.h"
#include "daemons/postrider/setup/setup.h"
#include "daemons/postrider/table/glossary.h"
#include "daemons/postrider/tokens/token_commands.h"
#include "daemons/postrider/try/try.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

namespace {

constexpr Option run_options[] = {
    {"--persistent-spool", "", "refuse a spool in memory or on the file system of a container"}};
constexpr Option list_options[] = {{"--limit", "N", "show at most N"}};
constexpr Option reload_options[] = {{"--dry-run", "", "show the effect on queued mail and change nothing"},
                                     {"--force", "", "reload regardless of the effect on queued mail"}};
constexpr Option messages_options[] = {
    {"--limit", "N", "show at most N"},
    {"--start-after", "ID", "start after this message"},
    {"--sort", "ORDER", "oldest (the default), newest, largest, or next (to be tried)"},
    {"--count", "", "print only the number of messages"}};
constexpr Option ages_options[] = {
    {"--by-sender", "", "count messages by sender domain instead of recipients by their domain"},
    {"--limit", "N", "show at most N"}};
constexpr Option cat_options[] = {{"--header", "", "print only the header"}};
constexpr Option resend_options[] = {{"--to", "ADDRESS", "send to this address instead"}};
constexpr Option status_options[] = {{"--brief", "", "print one line; exit status 0: every process works, 1: not"},
                                     {"--ready", "", "print one line; exit status 0: mail is accepted, 1: not"}};
constexpr Option top_options[] = {{"--interval", "SECONDS", "time between updates (default: 2)"}};
constexpr Option modify_options[] = {{"--reason", "TEXT", "reason, recorded and shown with your name"},
                                     {"--dry-run", "", "print how many would be affected and change nothing"}};
constexpr Option remove_options[] = {{"--reason", "TEXT", "reason, recorded and shown with your name"},
                                     {"--dry-run", "", "print how many would be affected and change nothing"},
                                     {"--yes", "", "do not ask for confirmation"},
                                     {"--permanently", "",
                                      "free the space at once; the messages cannot be "
                                      "restored"}};
constexpr Option expire_options[] = {{"--reason", "TEXT", "reason, recorded and shown with your name"},
                                     {"--dry-run", "", "print how many would be affected and change nothing"},
                                     {"--after", "DURATION", "expire when this old, such as 2d, instead of now"}};
constexpr Option requeue_options[] = {{"--reason", "TEXT", "reason, recorded and shown with your name"},
                                      {"--dry-run", "", "print how many would be affected and change nothing"},
                                      {"--policy", "NAME", "retry policy from now on"}};
constexpr Option move_options[] = {{"--to", "NODE", "node to move them to: the name of a section [node.<name>]"},
                                   {"--cancel", "", "instead: keep messages here that are being moved"},
                                   {"--in-doubt", "", "also those that may be on the other node already"},
                                   {"--reason", "TEXT", "reason, recorded and shown with your name"},
                                   {"--dry-run", "", "print how many would be affected and change nothing"}};
constexpr Option drain_options[] = {
    {"--to", "NODE,NODE", "nodes to move the messages to, in turns"},
    {"--rate", "N/s", "maximum number of messages to move per second (default: unlimited)"},
    {"--reason", "TEXT", "reason, recorded and shown with your name"},
    {"--wait", "", "print the progress until nothing is left to move"},
    {"--cancel", "", "instead: end the drain and accept mail again"}};
constexpr Option spool_import_options[] = {{"--again", "", "although this export was imported before"}};
constexpr Option pause_options[] = {{"--reason", "TEXT", "reason, recorded and shown with your name"}};

constexpr Option suppress_options[] = {
    {"--for", "DURATION", "lifetime of the entries, such as 90d (default: unlimited)"},
    {"--sender", "DOMAIN", "apply only to mail from this domain"},
    {"--pool", "NAME", "apply only to mail of this pool"},
    {"--lane", "LANE", "apply only to mail in this lane"},
    {"--reason", "TEXT", "reason, recorded and shown to senders"},
    {"--dry-run", "", "print how many would be affected and change nothing"}};
constexpr Option unsuppress_options[] = {
    {"--sender", "DOMAIN", "remove entries that apply only to mail from this domain"},
    {"--pool", "NAME", "remove entries that apply only to mail of this pool"},
    {"--lane", "LANE", "remove entries that apply only to mail in this lane"},
    {"--dry-run", "", "print how many would be affected and change nothing"}};
constexpr Option suppressed_options[] = {{"--sender", "DOMAIN", "check for mail from this domain"},
                                         {"--pool", "NAME", "check for mail of this pool"},
                                         {"--lane", "LANE", "check for mail in this lane"}};

constexpr RenamedOption renamed_options[] = {
    {"--behind", "--start-after"}, {"--why", "--reason"}, {"--for-good", "--permanently"}};

constexpr std::size_t unlimited = 1'000'000;
constexpr std::string_view message_selection = "ID...|WORD...|-", pause_scope = "queue|link|pool NAME, or all";

constexpr Option try_options[] = {{"--from", "SENDER", "sender to use instead of the null sender"},
                                  {"--host", "HOST[:PORT]", "try only this host"},
                                  {"--all", "", "try every host, even after one has answered"},
                                  {"-v", "", "also show the SMTP conversation"},
                                  {"--client", "IP", "instead: show what the access rules say to this client"},
                                  {"--name", "NAME", "the client's name, instead of that in the DNS"},
                                  {"--helo", "NAME", "the name it greets with"},
                                  {"--to", "ADDRESS", "the recipient"},
                                  {"--user", "NAME", "the user it authenticates as"},
                                  {"--tls", "", "its session is encrypted"},
                                  {"--certificate", "FINGERPRINT", "the certificate that it shows: AB:CD:..."},
                                  {"--listener", "NAME", "the listener it connects to"}};
constexpr Option verified_options[] = {
    {"--forget", "", "forget the answer: the address is checked when it is used again"}};
constexpr Option passwd_options[] = {{"--addresses", "LIST", "other addresses the user may send as: a@b,@c"},
                                     {"--remove", "", "remove the user"}};

constexpr Option activate_options[] = {
    {"--dry-run", "", "show what would be done and change nothing"},
    {"--root", "DIRECTORY", "root directory instead of /, for an image or a chroot"}};
constexpr Option dkim_key_options[] = {{"--file", "FILE", "file for the private key (default: SELECTOR.DOMAIN.pem)"},
                                       {"--ed25519", "", "generate an Ed25519 key instead of RSA"},
                                       {"--bits", "N", "size of an RSA key (default: 2048)"}};

constexpr Option setup_options[] = {
    {"--check", "", "check whether the records are in the DNS; exit status 0: yes, 1: no"},
    {"--selector", "NAME", "selector of the DKIM key (default: postrider)"},
    {"--test-host", "HOST[:PORT]", "server that is asked for its greeting, to test port 25"}};
constexpr Option map_options[] = {{"--query", "KEY", "look up KEY and print the result; exit status 1: not found"},
                                  {"--check", "", "check that these tables, or all that are configured, can be read"}};

constexpr Option history_options[] = {
    {"--attempts", "", "show each attempt of each message"},
    {"--events", "", "show every event of each message"},
    {"--follow", "", "print matching events as they are written"},
    {"--limit", "N", "show at most N messages (default: 100), or N groups"},
    {"--check", "", "check that the journal and the spool account for every accepted message"},
    {"--summary", "by=GROUP",
     "count events by class, link, day, submitter, pool, lane, domain, reply, type, rule, limit or network"},
    {"--all", "", "read also what is not known to be on stable storage"}};
constexpr Option verify_options[] = {{"--all", "", "read also what is not known to be on stable storage"}};
constexpr Option journal_cat_options[] = {{"--start-at", "NUMBER", "begin with the event of this number"},
                                          {"--follow", "", "continue with events as they are written"},
                                          {"--all", "", "read also what is not known to be on stable storage"}};
constexpr Option skip_options[] = {{"--all", "", "skip everything that is in the journal now"}};
constexpr Option token_options[] = {
    {"--scope", "LIST", "what it may be used for: read, read:content, submit, operate, remove, suppress, admin, node"},
    {"--submitter", "NAME", "submitter of its mail (default: token:NAME)"},
    {"--sender-domain", "LIST", "domains that its mail may come from (default: any)"},
    {"--network", "LIST", "networks that it may be used from, such as 192.0.2.0/24 (default: any)"},
    {"--expires", "DURATION", "how long it is valid, such as 90d (default: unlimited)"},
    {"--rate", "N/s", "maximum number of requests per second (default: unlimited)"}};
constexpr Option replay_options[] = {{"--start-at", "NUMBER", "continue with the event of this number"}};

constexpr Command table[] = {
    {"run", "", 0, 0, run_options, "run in the foreground until stopped", run},
    {"start", "", 0, 0, {}, "start in the background; returns when everything is ready", start},
    {"stop", "", 0, 0, {}, "stop in an orderly way; returns when all processes have exited", stop},
    {"reload", "", 0, 0, reload_options, "apply a changed configuration without dropping a session", reload},
    {"check", "", 0, 0, {}, "check the configuration and show what it would run", check},
    {"logs reopen", "", 0, 0, {}, "reopen the log file after it was renamed", logs_reopen},
    {"status", "", 0, 0, status_options, "show whether mail is accepted and delivered, and if not, why", status},
    {"top", "", 0, 0, top_options, "show the status continuously; q quits", top},
    {"queue list", "", 0, 0, {}, "list all queues; a queue is the mail for one domain", queue_list},
    {"queue show", "DOMAIN", 1, 1, {}, "show one queue, and why it is not moving", queue_show},
    {"queue ages", "[ID...|WORD...|-]", 0, unlimited, ages_options, "show the age of waiting mail by domain",
     queue_ages},
    {"link list", "", 0, 0, {}, "list all links; a link is the mail for one next hop", link_list},
    {"link show", "LINK", 1, 1, {}, "show one link and its queues", link_show},
    {"message list", "[ID...|WORD...|-]", 0, unlimited, messages_options,
     "list messages, with the reason each recipient waits", message_list},
    {"message show",
     "ID...",
     1,
     unlimited,
     {},
     "show everything about a message, with every attempt for every recipient",
     message_show},
    {"message cat", "ID", 1, 1, cat_options, "print the message as it was accepted", message_cat},
    {"message resend", "ID...", 1, unlimited, resend_options,
     "send messages again, of which the content is kept, to the recipients that they did not reach", message_resend},
    {"message hold", message_selection, 1, unlimited, modify_options, "hold messages until they are released",
     message_hold},
    {"message release", message_selection, 1, unlimited, modify_options, "release held messages", message_release},
    {"message remove", message_selection, 1, unlimited, remove_options,
     "delete messages without reports to their senders", message_remove},
    {"message restore",
     "ID...|all|-",
     1,
     unlimited,
     {},
     "restore messages that were removed recently",
     message_restore},
    {"message expire", message_selection, 1, unlimited, expire_options,
     "expire messages now, or at another age; their senders get reports", message_expire},
    {"message retry", message_selection, 1, unlimited, modify_options, "retry immediately, ignoring the retry schedule",
     message_retry},
    {"message requeue", message_selection, 1, unlimited, requeue_options, "determine recipients and routes again",
     message_requeue},
    {"message reroute", "[HOST]:PORT|back ID...|WORD...|-", 2, unlimited, modify_options,
     "send to another next hop, or back to the configured one", message_reroute},
    {"message priority", "high|normal|bulk ID...|WORD...|-", 2, unlimited, modify_options,
     "move messages to another lane", message_priority},
    {"message move", message_selection, 1, unlimited, move_options,
     "move messages to another node, with their state, each exactly once", message_move},
    {"message schedule", "TIME|now ID...|WORD...|-", 2, unlimited, modify_options,
     "send waiting messages at another time, or after a span such as 2h", message_schedule},
    {"drain", "[WORD...]", 0, unlimited, drain_options,
     "accept no mail and move all messages to other nodes; without --to, show the progress", drain},
    {"pause", pause_scope, 1, 2, pause_options, "stop delivery until resumed; survives a restart", pause},
    {"resume", pause_scope, 1, 2, pause_options, "end a pause", resume},
    {"force", pause_scope, 1, 2, pause_options, "retry immediately, ignoring the retry schedule", force},
    {"explain",
     "ID|ADDRESS",
     1,
     1,
     {},
     "explain why a message waits or what became of it, or where mail for an address would go",
     explain},
    {"history", "[ADDRESS|ID|MESSAGE-ID|WORD...]", 0, unlimited, history_options,
     "show what became of mail, newest first, from the journal", history_command},
    {"history erase",
     "ADDRESS",
     1,
     1,
     {},
     "erase an address from the journal, and from mail that is kept after a failure",
     history_erase},
    {"journal status", "", 0, 0, {}, "show which events the journal has, and how large it is", journal_status},
    {"journal verify", "", 0, 0, verify_options, "read the whole journal; show damage and missing numbers",
     journal_verify},
    {"journal cat", "", 0, 0, journal_cat_options, "print the events of the journal as JSON lines", journal_cat},
    {"fleet", "", 0, 0, {}, "show the nodes that share a store, and the state of the store", show_fleet},
    {"hook list", "", 0, 0, {}, "list the hooks, how far behind they are, and why", hook_list},
    {"hook test", "HOOK", 1, 1, {}, "send a test event to a hook's server and show its answer", hook_test},
    {"hook replay", "HOOK", 1, 1, replay_options, "push events again, from a number on", hook_replay},
    {"hook pause", "HOOK", 1, 1, {}, "push nothing until resumed; survives a restart", hook_pause},
    {"hook resume", "HOOK", 1, 1, {}, "end a pause, or switch a hook on again; try at once", hook_resume},
    {"hook skip", "HOOK", 1, 1, skip_options, "give up the event that is pushed next", hook_skip},
    {"hook dead", "HOOK", 1, 1, {}, "show events that were given up", hook_dead},
    {"token add", "NAME", 1, 1, token_options, "make a token for a client of the API, and print it", token_add},
    {"token list", "", 0, 0, {}, "list the tokens of the API", token_list},
    {"token show", "NAME", 1, 1, {}, "show what a token may be used for", token_show},
    {"token remove", "NAME", 1, 1, {}, "remove a token: it is no longer accepted", token_remove},
    {"try", "[ADDRESS]", 0, 1, try_options,
     "connect to the next hop of an address, up to RCPT, and show each step; or show which access rule decides",
     try_address},
    {"verify", "ADDRESS", 1, 1, verified_options,
     "show whether an address is deliverable, as the rules reject_unverified_... see it, or forget the answer",
     verify_address},
    {"suppress add", "ADDRESS|DOMAIN...", 1, unlimited, suppress_options,
     "send no more mail to these recipients; return waiting mail", suppress_add},
    {"suppress remove", "ADDRESS|DOMAIN...|WORD...", 1, unlimited, unsuppress_options,
     "allow mail to these recipients again", suppress_remove},
    {"suppress list", "[WORD...]", 0, unlimited, list_options,
     "list recipients to which no mail is sent, since when, and why", suppress_list},
    {"suppress import", "FILE|-", 1, 1, suppress_options, "add addresses from a file, one per line or CSV",
     suppress_import},
    {"suppress check", "ADDRESS|DOMAIN", 1, 1, suppressed_options, "show the entry that covers a recipient",
     suppress_check},
    {"spool check", "", 0, 0, {}, "verify all checksums in the spool and list damaged files", spool_check},
    {"spool export", "ID FILE|-", 2, 2, {}, "export a message to a file", spool_export},
    {"spool import", "FILE", 1, 1, spool_import_options, "queue an exported message under a new queue id",
     spool_import},
    {"passwd", "USER", 1, 1, passwd_options, "set the password of a user who may authenticate", passwd},
    {"activate", "", 0, 0, activate_options, "link sendmail, mailq and others to Postrider's commands", activate},
    {"deactivate", "", 0, 0, activate_options, "remove these links", deactivate},
    {"dkim-key", "DOMAIN SELECTOR", 2, 2, dkim_key_options, "generate a DKIM key and print the DNS record to publish",
     dkim_key},
    {"setup", "DOMAIN", 1, 1, setup_options,
     "check whether this host can send mail for a domain; make its DKIM key and print its DNS records", setup_domain},
    {"map", "FILE...|TABLE...", 0, unlimited, map_options, "compile or query lookup tables", map},
    {"import-postfix", "DIR", 1, 1, import_options, "convert Postfix's configuration in DIR", import_from_postfix},
    {"simulate", "", 0, 0, simulate_options, "simulate traffic and outages with this configuration", run_simulation},
};

// The options of all commands together.
std::vector<Option> all_options() {
    std::vector<Option> all;
    for (const auto& command : table) all.insert(all.end(), command.options.begin(), command.options.end());
    return all;
}

std::string group_of(const Command& command) { return std::string(command.name.substr(0, command.name.find(' '))); }

std::string synopsis(const Command& command) {
    std::string text(command.name);
    if (!command.parameters.empty()) text += fmt::format(" {}", command.parameters);
    for (const auto& option : command.options)
        text += option.value.empty() ? fmt::format(" [{}]", option.name)
                                     : fmt::format(" [{} {}]", option.name, option.value);
    return text;
}

void print_commands(std::FILE* to, std::string_view group) {
    for (const auto& command : table) {
        if (!group.empty() && group_of(command) != group) continue;
        const auto line =
            fmt::format("{}{}{}", command.name, command.parameters.empty() ? "" : " ", command.parameters);
        fmt::print(to, "  {:<50} {}\n", line, command.summary);
    }
}

void print_help(std::FILE* to) {
    fmt::print(to, "usage: postrider COMMAND [-c FILE] [--json]\n\n");
    print_commands(to, "");
    fmt::print(
        to, "\n  -c, --config FILE   configuration (default: $POSTRIDER_CONFIG, then /etc/postrider/postrider.toml)\n"
            "  --json              print JSON\n"
            "  -h, --help          print this help; \"postrider help COMMAND\" for one command,\n"
            "                      \"postrider help words\" for the words used in commands, logs and manuals\n"
            "  --version           print the version\n\n"
            "See postrider(1). Mail: sendmail(1), mailq(1). Configuration: postrider.toml(5).\n");
}

int print_help_of(const Command& command) {
    fmt::print("usage: postrider {}\n\n{}\n", synopsis(command), command.summary);
    if (!command.options.empty()) fmt::print("\n");
    for (const auto& option : command.options)
        fmt::print("  {:<20} {}\n", fmt::format("{} {}", option.name, option.value), option.description);
    return ok;
}

// "queue" alone, or "queue lst": the commands of the group.
int print_group(std::string_view group, const Arguments& arguments) {
    if (arguments.help) {
        fmt::print("usage:\n");
        print_commands(stdout, group);
        return ok;
    }
    if (arguments.words.size() > 1)
        print_error(fmt::format("unknown command \"{} {}\"; the commands are:", group, arguments.words[1]));
    else
        print_error(fmt::format("\"{}\" needs a subcommand:", group));
    print_commands(stderr, group);
    return usage;
}

const Command* find_command(const std::vector<std::string>& words) {
    const auto two = words.size() > 1 ? words[0] + " " + words[1] : std::string();
    const auto* found = std::ranges::find(table, two, &Command::name);
    return found != std::end(table) ? found : std::ranges::find(table, std::string_view(words[0]), &Command::name);
}

int run_command(const Command& command, Arguments arguments) {
    if (arguments.help) return print_help_of(command);
    const auto words_in_name = std::ranges::count(command.name, ' ') + 1;
    arguments.words.erase(arguments.words.begin(), arguments.words.begin() + words_in_name);
    const auto wrong = [&](std::string what) {
        print_error(what);
        fmt::print(stderr, "usage: postrider {}\n", synopsis(command));
        return usage;
    };
    for (const auto& [name, value] : arguments.options)
        if (std::ranges::find(command.options, std::string_view(name), &Option::name) == command.options.end())
            return wrong(fmt::format("\"postrider {}\" does not take {}", command.name, name));
    if (arguments.words.size() > command.max_parameters)
        return wrong(fmt::format("\"postrider {}\" does not take \"{}\"", command.name,
                                 arguments.words[command.max_parameters]));
    if (arguments.words.size() < command.min_parameters)
        return wrong(fmt::format("\"postrider {}\" needs {}", command.name, command.parameters));
    return command.run(arguments);
}

} // namespace

std::span<const Command> commands() { return table; }

int run_command_line(const std::vector<std::string_view>& given) {
    const auto options = all_options();
    auto arguments = parse_arguments(given, options, renamed_options);
    if (!arguments) return fail(usage, arguments.error() + "; \"postrider --help\" lists all commands");
    if (arguments->version) {
        fmt::print("postrider {}\n", POSTRIDER_VERSION);
        return ok;
    }
    if (!arguments->words.empty() && arguments->words[0] == "help") { // same as --help
        arguments->help = true;
        arguments->words.erase(arguments->words.begin());
    }
    if (arguments->help && arguments->words == std::vector<std::string>{"words"}) {
        const auto width = terminal_width(); // 0: not a terminal
        fmt::print("{}", glossary_text(width == 0 ? 80 : std::clamp<std::size_t>(width, 40, 80)));
        return ok;
    }
    if (arguments->words.empty()) {
        print_help(arguments->help ? stdout : stderr);
        return arguments->help ? ok : usage;
    }
    if (const auto* command = find_command(arguments->words); command != std::end(table))
        return run_command(*command, *std::move(arguments));
    const auto& word = arguments->words[0];
    if (std::ranges::any_of(table, [&](const Command& command) { return command.name.starts_with(word + " "); }))
        return print_group(word, *arguments);
    print_error(fmt::format("unknown command \"{}\"; \"postrider --help\" lists all commands", word));
    return usage;
}

} // namespace postrider
