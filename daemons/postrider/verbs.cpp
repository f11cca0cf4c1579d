// The table of verbs and how one is found in it: usage, options it does not take, words too few or too many.
#include "daemons/postrider/command.h"
#include "daemons/postrider/glossary.h"
#include <algorithm>
#include <fmt/format.h>

namespace postrider {

namespace {

constexpr Option of_simulate[] = {{"--world", "FILE", "the scenario; postrider.scenario(5)"},
                                  {"--from-log", "FILE", "instead: simulate the traffic and failures of a mail log; -: standard input"},
                                  {"--print-scenario", "", "print the scenario derived from the log and exit"},
                                  {"--seed", "N", "instead of the scenario's: another course of chance"},
                                  {"--until", "DURATION", "play so long, such as 36h, instead of what it says"}};
constexpr Option of_list[] = {{"--limit", "N", "show so many at most"}};
constexpr Option of_reload[] = {{"--dry-run", "", "say what it would do to queued mail and change nothing"},
                                {"--force", "", "whatever it does to queued mail"}};
constexpr Option of_messages[] = {{"--limit", "N", "show so many at most"},
                                  {"--behind", "ID", "only those behind that one in the list"},
                                  {"--sort", "ORDER", "oldest (first; as usual), newest, largest or next (to be tried)"},
                                  {"--count", "", "say only how many there are"}};
constexpr Option of_ages[] = {{"--by-sender", "", "messages by their senders' domains, not recipients by theirs"},
                              {"--limit", "N", "show so many at most"}};
constexpr Option of_cat[] = {{"--header", "", "the header only"}};
constexpr Option of_top[] = {{"--interval", "SECONDS", "between two looks; 2"}};
constexpr Option of_change[] = {{"--why", "TEXT", "kept and shown beside who did it"},
                                {"--dry-run", "", "say how many it would be and change nothing"}};
constexpr Option of_remove[] = {{"--why", "TEXT", "kept and shown beside who did it"},
                                {"--dry-run", "", "say how many it would be and change nothing"},
                                {"--yes", "", "do not ask, however many it is"},
                                {"--for-good", "", "free the space at once; it cannot be restored"}};
constexpr Option of_expire[] = {{"--why", "TEXT", "kept and shown beside who did it"},
                                {"--dry-run", "", "say how many it would be and change nothing"},
                                {"--after", "DURATION", "not now, but when they are so old, such as 2d"}};
constexpr Option of_requeue[] = {{"--why", "TEXT", "kept and shown beside who did it"},
                                 {"--dry-run", "", "say how many it would be and change nothing"},
                                 {"--policy", "NAME", "the retry policy that holds from now on"}};
constexpr Option of_scope[] = {{"--why", "TEXT", "kept and shown beside who did it"}};

constexpr Option of_suppress[] = {{"--for", "DURATION", "the entries end after so long, such as 90d; else never"},
                                  {"--sender", "DOMAIN", "only for mail from there"},
                                  {"--why", "TEXT", "kept, and told to whoever writes there"},
                                  {"--dry-run", "", "say how many it would be and change nothing"}};
constexpr Option of_unsuppress[] = {{"--sender", "DOMAIN", "the entries that are only for mail from there"},
                                    {"--dry-run", "", "say how many it would be and change nothing"}};
constexpr Option of_suppressed[] = {{"--sender", "DOMAIN", "for mail from there"}};

constexpr std::size_t any = 1'000'000;
constexpr std::string_view which = "ID...|WORD...|-", place = "queue|link|pool NAME, or all";

constexpr Option of_try[] = {{"--from", "SENDER", "instead of the null sender"},
                             {"--host", "HOST[:PORT]", "ask this host only"},
                             {"--all", "", "ask every host, not only until one has answered"},
                             {"-v", "", "show the conversation itself as well"}};
constexpr Option of_passwd[] = {{"--addresses", "LIST", "others he may send as: a@b,@c"},
                                {"--remove", "", "take him out of the file"}};

constexpr Option of_activate[] = {{"--dry-run", "", "say what would be done and change nothing"},
                                  {"--root", "DIRECTORY", "below it instead of /, for an image or a chroot"}};
constexpr Option of_dkim_key[] = {{"--file", "FILE", "where the private key goes; SELECTOR.DOMAIN.pem"},
                                  {"--ed25519", "", "an Ed25519 key, instead of RSA"},
                                  {"--bits", "N", "of an RSA key; 2048"}};

constexpr Option of_import[] = {{"-o", "FILE", "write there instead; a file that exists is left alone"}};
constexpr Option of_map[] = {{"--query", "KEY", "print what the tables say of it; 1: none has it"},
                             {"--check", "", "look whether these, or all of the configuration, can be asked"}};

constexpr Verb table[] = {
    {"run", "", 0, 0, {}, "run in the foreground until stopped", run},
    {"start", "", 0, 0, {}, "start in the background; returns when everything is ready", start},
    {"stop", "", 0, 0, {}, "stop in good order; returns when everything has ended", stop},
    {"reload", "", 0, 0, of_reload, "take over a changed configuration without dropping a session", reload},
    {"check", "", 0, 0, {}, "look the configuration over and say what would run with it", check},
    {"logs reopen", "", 0, 0, {}, "open the log file anew, after it was renamed", logs_reopen},
    {"status", "", 0, 0, {}, "does it accept, does it deliver, and if not, why", status},
    {"top", "", 0, 0, of_top, "the same, again and again; q ends it", top},
    {"queue list", "", 0, 0, {}, "every queue: what waits for one domain", queue_list},
    {"queue show", "DOMAIN", 1, 1, {}, "one queue, and why nothing is happening in it", queue_show},
    {"queue ages", "[ID...|WORD...|-]", 0, any, of_ages, "how old the mail is, domain by domain", queue_ages},
    {"link list", "", 0, 0, {}, "every link: what shares one next hop", link_list},
    {"link show", "LINK", 1, 1, {}, "one link with its queues", link_show},
    {"message list", "[ID...|WORD...|-]", 0, any, of_messages, "messages, with why each recipient waits",
     message_list},
    {"message show",
     "ID...",
     1,
     any,
     {},
     "all about a message: every attempt for every recipient",
     message_show},
    {"message cat", "ID", 1, 1, of_cat, "the message itself, as it was accepted", message_cat},
    {"message hold", which, 1, any, of_change, "do not deliver until released", message_hold},
    {"message release", which, 1, any, of_change, "let held messages go", message_release},
    {"message remove", which, 1, any, of_remove, "delete without telling anybody", message_remove},
    {"message restore", "ID...|all|-", 1, any, {}, "bring back what was removed lately", message_restore},
    {"message expire", which, 1, any, of_expire, "give up now, or at another age; the senders are told", message_expire},
    {"message retry", which, 1, any, of_change, "try now, whatever the ladder says", message_retry},
    {"message requeue", which, 1, any, of_requeue, "work the recipients out anew", message_requeue},
    {"message reroute", "[HOST]:PORT|back ID...|WORD...|-", 2, any, of_change,
     "send to another next hop, or back", message_reroute},
    {"message priority", "high|normal|bulk ID...|WORD...|-", 2, any, of_change, "put into another lane",
     message_priority},
    {"pause", place, 1, 2, of_scope, "deliver nothing there until resumed; survives a restart", pause},
    {"resume", place, 1, 2, of_scope, "end a pause", resume},
    {"force", place, 1, 2, of_scope, "try now, whatever the ladder says", force},
    {"explain",
     "ID|ADDRESS",
     1,
     1,
     {},
     "what keeps a message; or where mail for an address would go",
     explain_it},
    {"try", "ADDRESS", 1, 1, of_try, "go where mail for it would go, as far as RCPT, and say each step", try_it},
    {"suppress add", "ADDRESS|DOMAIN...", 1, any, of_suppress, "no more mail goes there; waiting mail is reported", suppress_add},
    {"suppress remove", "ADDRESS|DOMAIN...|WORD...", 1, any, of_unsuppress, "mail goes there again", suppress_remove},
    {"suppress list", "[WORD...]", 0, any, of_list, "who gets no mail, since when, and why", suppress_list},
    {"suppress import", "FILE|-", 1, 1, of_suppress, "addresses of another system, one a line, or its CSV", suppress_import},
    {"suppress check", "ADDRESS|DOMAIN", 1, 1, of_suppressed, "is it on the list, and by what entry", suppress_check},
    {"spool check",
     "",
     0,
     0,
     {},
     "compare every checksum in the spool and list what is damaged",
     spool_check},
    {"spool export", "ID FILE|-", 2, 2, {}, "copy a message into a file of its own", spool_export},
    {"spool import", "FILE", 1, 1, {}, "queue a message that was exported; it gets a new id", spool_import},
    {"passwd", "USER", 1, 1, of_passwd, "set the password of one who may authenticate", passwd},
    {"activate", "", 0, 0, of_activate, "link sendmail, mailq and the like to our commands, where nobody else has them", activate},
    {"deactivate", "", 0, 0, of_activate, "take these links away again", deactivate},
    {"dkim-key", "DOMAIN SELECTOR", 2, 2, of_dkim_key, "make a key to sign with, and print what to publish of it",
     dkim_key},
    {"map", "FILE...|TABLE...", 0, any, of_map, "compile lookup tables, or ask them", map},
    {"import-postfix", "DIR", 1, 1, of_import, "read Postfix's configuration there and print ours", import_from_postfix},
    {"simulate", "", 0, 0, of_simulate, "play a scenario of traffic and outages against the configuration",
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
    fmt::print(to, "usage: postrider VERB [-c FILE] [--json]\n\n");
    print_verbs(to, "");
    fmt::print(to,
               "\n  -c, --config FILE   else $POSTRIDER_CONFIG, else /etc/postrider/postrider.toml\n"
               "  --json              facts for programs\n"
               "  -h, --help          also of a verb: postrider help VERB\n"
               "  help words          explain the words used here\n"
               "  --version\n\n"
               "postrider(1) says more. Mail: sendmail(1), mailq(1). Configuration: postrider.toml(5).\n");
}

int print_help_of(const Verb& verb) {
    fmt::print("usage: postrider {}\n\n{}\n", synopsis(verb), verb.summary);
    if (!verb.options.empty()) fmt::print("\n");
    for (const auto& option : verb.options)
        fmt::print("  {:<20} {}\n", fmt::format("{} {}", option.name, option.value), option.meaning);
    return ok;
}

// "queue" alone, or "queue lst": what there is.
int print_group(std::string_view group, const Arguments& arguments) {
    if (arguments.help) {
        fmt::print("usage:\n");
        print_verbs(stdout, group);
        return ok;
    }
    if (arguments.words.size() > 1)
        complain(fmt::format("there is no \"{} {}\"; there are:", group, arguments.words[1]));
    else
        complain(fmt::format("\"{}\" needs a further word:", group));
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
            return wrong(fmt::format("\"postrider {}\" takes no {}", verb.name, name));
    if (arguments.words.size() > verb.most)
        return wrong(fmt::format("\"postrider {}\" takes no \"{}\"", verb.name, arguments.words[verb.most]));
    if (arguments.words.size() < verb.least)
        return wrong(fmt::format("\"postrider {}\" needs {}", verb.name, verb.words));
    return verb.run(arguments);
}

} // namespace

std::span<const Verb> verbs() { return table; }

int run_command(const std::vector<std::string_view>& given) {
    const auto options = all_options();
    auto arguments = parse_arguments(given, options);
    if (!arguments) return complain(arguments.error() + "; \"postrider --help\" lists what there is"), usage;
    if (arguments->version) return fmt::print("postrider {}\n", POSTRIDER_VERSION), ok;
    if (!arguments->words.empty() && arguments->words[0] == "help") { // as --help, for whoever expects it so
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
    complain(fmt::format("there is no \"{}\"; \"postrider --help\" lists what there is", word));
    return usage;
}

} // namespace postrider
