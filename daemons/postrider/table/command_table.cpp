// The table of commands, their help, and the check of a command line against it.
#include "daemons/postrider/command/command.h"
#include "daemons/postrider/table/glossary.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

namespace {

constexpr Option of_simulate[] = {{"--world", "FILE", "scenario file; see postrider.scenario(5)"},
                                  {"--from-log", "FILE", "simulate the traffic and failures of a mail log instead; -: standard input"},
                                  {"--print-scenario", "", "print the scenario derived from the log and exit"},
                                  {"--seed", "N", "seed for random events, instead of the scenario's"},
                                  {"--until", "DURATION", "simulated time, such as 36h, instead of the scenario's"}};
constexpr Option of_list[] = {{"--limit", "N", "show at most N"}};
constexpr Option of_reload[] = {{"--dry-run", "", "show the effect on queued mail and change nothing"},
                                {"--force", "", "reload whatever the effect on queued mail"}};
constexpr Option of_messages[] = {{"--limit", "N", "show at most N"},
                                  {"--behind", "ID", "start after this message"},
                                  {"--sort", "ORDER", "oldest (the default), newest, largest, or next (to be tried)"},
                                  {"--count", "", "print only the number of messages"}};
constexpr Option of_ages[] = {{"--by-sender", "", "count messages by sender domain instead of recipients by their domain"},
                              {"--limit", "N", "show at most N"}};
constexpr Option of_cat[] = {{"--header", "", "print only the header"}};
constexpr Option of_top[] = {{"--interval", "SECONDS", "time between updates (default: 2)"}};
constexpr Option of_change[] = {{"--why", "TEXT", "reason, recorded and shown with your name"},
                                {"--dry-run", "", "print how many would be affected and change nothing"}};
constexpr Option of_remove[] = {{"--why", "TEXT", "reason, recorded and shown with your name"},
                                {"--dry-run", "", "print how many would be affected and change nothing"},
                                {"--yes", "", "do not ask for confirmation"},
                                {"--for-good", "", "free the space at once; the messages cannot be restored"}};
constexpr Option of_expire[] = {{"--why", "TEXT", "reason, recorded and shown with your name"},
                                {"--dry-run", "", "print how many would be affected and change nothing"},
                                {"--after", "DURATION", "expire when this old, such as 2d, instead of now"}};
constexpr Option of_requeue[] = {{"--why", "TEXT", "reason, recorded and shown with your name"},
                                 {"--dry-run", "", "print how many would be affected and change nothing"},
                                 {"--policy", "NAME", "retry policy from now on"}};
constexpr Option of_scope[] = {{"--why", "TEXT", "reason, recorded and shown with your name"}};

constexpr Option of_suppress[] = {{"--for", "DURATION", "lifetime of the entries, such as 90d (default: unlimited)"},
                                  {"--sender", "DOMAIN", "apply only to mail from this domain"},
                                  {"--why", "TEXT", "reason, recorded and shown to senders"},
                                  {"--dry-run", "", "print how many would be affected and change nothing"}};
constexpr Option of_unsuppress[] = {{"--sender", "DOMAIN", "remove entries that apply only to mail from this domain"},
                                    {"--dry-run", "", "print how many would be affected and change nothing"}};
constexpr Option of_suppressed[] = {{"--sender", "DOMAIN", "check for mail from this domain"}};

constexpr std::size_t any = 1'000'000;
constexpr std::string_view which = "ID...|WORD...|-", place = "queue|link|pool NAME, or all";

constexpr Option of_try[] = {{"--from", "SENDER", "sender to use instead of the null sender"},
                             {"--host", "HOST[:PORT]", "try only this host"},
                             {"--all", "", "try every host, even after one has answered"},
                             {"-v", "", "also show the SMTP conversation"}};
constexpr Option of_passwd[] = {{"--addresses", "LIST", "other addresses the user may send as: a@b,@c"},
                                {"--remove", "", "remove the user"}};

constexpr Option of_activate[] = {{"--dry-run", "", "show what would be done and change nothing"},
                                  {"--root", "DIRECTORY", "root directory instead of /, for an image or a chroot"}};
constexpr Option of_dkim_key[] = {{"--file", "FILE", "file for the private key (default: SELECTOR.DOMAIN.pem)"},
                                  {"--ed25519", "", "generate an Ed25519 key instead of RSA"},
                                  {"--bits", "N", "size of an RSA key (default: 2048)"}};

constexpr Option of_import[] = {{"-o", "FILE", "output file; an existing file is not overwritten"}};
constexpr Option of_map[] = {{"--query", "KEY", "look up KEY and print the result; exit status 1: not found"},
                             {"--check", "", "check that these tables, or all that are configured, can be read"}};

constexpr Verb table[] = {
    {"run", "", 0, 0, {}, "run in the foreground until stopped", run},
    {"start", "", 0, 0, {}, "start in the background; returns when everything is ready", start},
    {"stop", "", 0, 0, {}, "stop in an orderly way; returns when all processes have exited", stop},
    {"reload", "", 0, 0, of_reload, "apply a changed configuration without dropping a session", reload},
    {"check", "", 0, 0, {}, "check the configuration and show what it would run", check},
    {"logs reopen", "", 0, 0, {}, "reopen the log file after it was renamed", logs_reopen},
    {"status", "", 0, 0, {}, "show whether mail is accepted and delivered, and if not, why", status},
    {"top", "", 0, 0, of_top, "show the status continuously; q quits", top},
    {"queue list", "", 0, 0, {}, "list all queues; a queue is the mail for one domain", queue_list},
    {"queue show", "DOMAIN", 1, 1, {}, "show one queue, and why it is not moving", queue_show},
    {"queue ages", "[ID...|WORD...|-]", 0, any, of_ages, "show the age of waiting mail by domain", queue_ages},
    {"link list", "", 0, 0, {}, "list all links; a link is the mail for one next hop", link_list},
    {"link show", "LINK", 1, 1, {}, "show one link and its queues", link_show},
    {"message list", "[ID...|WORD...|-]", 0, any, of_messages, "list messages, with the reason each recipient waits",
     message_list},
    {"message show",
     "ID...",
     1,
     any,
     {},
     "show everything about a message, with every attempt for every recipient",
     message_show},
    {"message cat", "ID", 1, 1, of_cat, "print the message as it was accepted", message_cat},
    {"message hold", which, 1, any, of_change, "hold messages until they are released", message_hold},
    {"message release", which, 1, any, of_change, "release held messages", message_release},
    {"message remove", which, 1, any, of_remove, "delete messages without reports to their senders", message_remove},
    {"message restore", "ID...|all|-", 1, any, {}, "restore messages that were removed recently", message_restore},
    {"message expire", which, 1, any, of_expire, "expire messages now, or at another age; their senders get reports", message_expire},
    {"message retry", which, 1, any, of_change, "retry immediately, ignoring the retry schedule", message_retry},
    {"message requeue", which, 1, any, of_requeue, "determine recipients and routes again", message_requeue},
    {"message reroute", "[HOST]:PORT|back ID...|WORD...|-", 2, any, of_change,
     "send to another next hop, or back to the configured one", message_reroute},
    {"message priority", "high|normal|bulk ID...|WORD...|-", 2, any, of_change, "move messages to another lane",
     message_priority},
    {"pause", place, 1, 2, of_scope, "stop delivery until resumed; survives a restart", pause},
    {"resume", place, 1, 2, of_scope, "end a pause", resume},
    {"force", place, 1, 2, of_scope, "retry immediately, ignoring the retry schedule", force},
    {"explain",
     "ID|ADDRESS",
     1,
     1,
     {},
     "explain why a message waits, or where mail for an address would go",
     explain_it},
    {"try", "ADDRESS", 1, 1, of_try, "connect to the next hop of an address, up to RCPT, and show each step", try_it},
    {"suppress add", "ADDRESS|DOMAIN...", 1, any, of_suppress, "send no more mail to these recipients; return waiting mail", suppress_add},
    {"suppress remove", "ADDRESS|DOMAIN...|WORD...", 1, any, of_unsuppress, "allow mail to these recipients again", suppress_remove},
    {"suppress list", "[WORD...]", 0, any, of_list, "list recipients to which no mail is sent, since when, and why", suppress_list},
    {"suppress import", "FILE|-", 1, 1, of_suppress, "add addresses from a file, one per line or CSV", suppress_import},
    {"suppress check", "ADDRESS|DOMAIN", 1, 1, of_suppressed, "show the entry that covers a recipient", suppress_check},
    {"spool check",
     "",
     0,
     0,
     {},
     "verify all checksums in the spool and list damaged files",
     spool_check},
    {"spool export", "ID FILE|-", 2, 2, {}, "export a message to a file", spool_export},
    {"spool import", "FILE", 1, 1, {}, "queue an exported message under a new queue id", spool_import},
    {"passwd", "USER", 1, 1, of_passwd, "set the password of a user who may authenticate", passwd},
    {"activate", "", 0, 0, of_activate, "link sendmail, mailq and others to Postrider's commands", activate},
    {"deactivate", "", 0, 0, of_activate, "remove these links", deactivate},
    {"dkim-key", "DOMAIN SELECTOR", 2, 2, of_dkim_key, "generate a DKIM key and print the DNS record to publish",
     dkim_key},
    {"map", "FILE...|TABLE...", 0, any, of_map, "compile or query lookup tables", map},
    {"import-postfix", "DIR", 1, 1, of_import, "convert Postfix's configuration in DIR", import_from_postfix},
    {"simulate", "", 0, 0, of_simulate, "simulate traffic and outages with this configuration",
     play},
};

// The options of all verbs together.
std::vector<Option> all_options() {
    std::vector<Option> all;
    for (const auto& verb : table) all.insert(all.end(), verb.options.begin(), verb.options.end());
    return all;
}

std::string group_of(const Verb& verb) { return std::string(verb.name.substr(0, verb.name.find(' '))); }

std::string synopsis(const Verb& verb) {
    std::string text(verb.name);
    if (!verb.words.empty()) text += fmt::format(" {}", verb.words);
    for (const auto& option : verb.options)
        text += option.value.empty() ? fmt::format(" [{}]", option.name)
                                     : fmt::format(" [{} {}]", option.name, option.value);
    return text;
}

void print_verbs(std::FILE* to, std::string_view group) {
    for (const auto& verb : table) {
        if (!group.empty() && group_of(verb) != group) continue;
        const auto line = fmt::format("{}{}{}", verb.name, verb.words.empty() ? "" : " ", verb.words);
        fmt::print(to, "  {:<50} {}\n", line, verb.summary);
    }
}

void print_help(std::FILE* to) {
    fmt::print(to, "usage: postrider COMMAND [-c FILE] [--json]\n\n");
    print_verbs(to, "");
    fmt::print(to,
               "\n  -c, --config FILE   configuration (default: $POSTRIDER_CONFIG, then /etc/postrider/postrider.toml)\n"
               "  --json              print JSON\n"
               "  -h, --help          print this help; \"postrider help COMMAND\" for one command,\n"
               "                      \"postrider help words\" for the words used in commands, logs and manuals\n"
               "  --version           print the version\n\n"
               "See postrider(1). Mail: sendmail(1), mailq(1). Configuration: postrider.toml(5).\n");
}

int print_help_of(const Verb& verb) {
    fmt::print("usage: postrider {}\n\n{}\n", synopsis(verb), verb.summary);
    if (!verb.options.empty()) fmt::print("\n");
    for (const auto& option : verb.options)
        fmt::print("  {:<20} {}\n", fmt::format("{} {}", option.name, option.value), option.meaning);
    return ok;
}

// "queue" alone, or "queue lst": the commands of the group.
int print_group(std::string_view group, const Arguments& arguments) {
    if (arguments.help) {
        fmt::print("usage:\n");
        print_verbs(stdout, group);
        return ok;
    }
    if (arguments.words.size() > 1)
        complain(fmt::format("unknown command \"{} {}\"; the commands are:", group, arguments.words[1]));
    else
        complain(fmt::format("\"{}\" needs a subcommand:", group));
    print_verbs(stderr, group);
    return usage;
}

const Verb* find_verb(const std::vector<std::string>& words) {
    const auto two = words.size() > 1 ? words[0] + " " + words[1] : std::string();
    const auto* found = std::ranges::find(table, two, &Verb::name);
    return found != std::end(table) ? found
                                    : std::ranges::find(table, std::string_view(words[0]), &Verb::name);
}

int run_verb(const Verb& verb, Arguments arguments) {
    if (arguments.help) return print_help_of(verb);
    const auto of_name = std::ranges::count(verb.name, ' ') + 1;
    arguments.words.erase(arguments.words.begin(), arguments.words.begin() + of_name);
    const auto wrong = [&](std::string what) {
        complain(what);
        fmt::print(stderr, "usage: postrider {}\n", synopsis(verb));
        return usage;
    };
    for (const auto& [name, value] : arguments.options)
        if (std::ranges::find(verb.options, std::string_view(name), &Option::name) == verb.options.end())
            return wrong(fmt::format("\"postrider {}\" does not take {}", verb.name, name));
    if (arguments.words.size() > verb.most)
        return wrong(fmt::format("\"postrider {}\" does not take \"{}\"", verb.name, arguments.words[verb.most]));
    if (arguments.words.size() < verb.least)
        return wrong(fmt::format("\"postrider {}\" needs {}", verb.name, verb.words));
    return verb.run(arguments);
}

} // namespace

std::span<const Verb> verbs() { return table; }

int run_command(const std::vector<std::string_view>& given) {
    const auto options = all_options();
    auto arguments = parse_arguments(given, options);
    if (!arguments) return complain(arguments.error() + "; \"postrider --help\" lists all commands"), usage;
    if (arguments->version) return fmt::print("postrider {}\n", POSTRIDER_VERSION), ok;
    if (!arguments->words.empty() && arguments->words[0] == "help") { // same as --help
        arguments->help = true;
        arguments->words.erase(arguments->words.begin());
    }
    if (arguments->help && arguments->words == std::vector<std::string>{"words"}) {
        const auto width = terminal_width(); // 0: not a terminal
        fmt::print("{}", glossary_text(width == 0 ? 80 : std::clamp<std::size_t>(width, 40, 80)));
        return ok;
    }
    if (arguments->words.empty())
        return print_help(arguments->help ? stdout : stderr), arguments->help ? ok : usage;
    if (const auto* verb = find_verb(arguments->words); verb != std::end(table))
        return run_verb(*verb, *std::move(arguments));
    const auto& word = arguments->words[0];
    if (std::ranges::any_of(table, [&](const Verb& verb) { return verb.name.starts_with(word + " "); }))
        return print_group(word, *arguments);
    complain(fmt::format("unknown command \"{}\"; \"postrider --help\" lists all commands", word));
    return usage;
}

} // namespace postrider
