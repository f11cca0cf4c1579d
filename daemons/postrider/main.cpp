// postrider: the command of the MTA's administrator. A table of verbs; one function each.
#include "daemons/common/privileges.h"
#include "daemons/postrider/command.h"
#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace {

using namespace postrider;

constexpr Verb verbs[] = {
    {"run", "", "run in the foreground until stopped", postrider::run},
    {"start", "", "start in the background; returns when everything is ready", postrider::start},
    {"stop", "", "stop in good order; returns when everything has ended", postrider::stop},
    {"reload", "", "take over a changed configuration without dropping a session", postrider::reload},
    {"status", "", "say how processes and queue are", postrider::status},
    {"check", "", "look the configuration over and say what would run with it", postrider::check},
    {"logs", "reopen", "open the log file anew, after it was renamed", postrider::logs},
};

void print_help(std::FILE* to) {
    fmt::print(to, "usage: postrider VERB [-c FILE] [--json]\n\n");
    for (const auto& verb : verbs)
        fmt::print(to, "  {:<14} {}\n", fmt::format("{} {}", verb.name, verb.words), verb.summary);
    fmt::print(to, "\n  -c, --config FILE   else $POSTRIDER_CONFIG, else /etc/postrider/postrider.toml\n"
                   "  --json              facts for programs (status, check)\n"
                   "  --help, --version\n\n"
                   "Mail: sendmail(8), mailq(1). Configuration: postrider.toml(5).\n");
}

} // namespace

int main(int argc, char** argv) {
    common::keep_standard_descriptors();
    const auto arguments = parse_arguments({argv + std::min(argc, 1), argv + argc});
    if (!arguments) return complain(arguments.error() + "; \"postrider --help\" lists what there is"), usage;
    if (arguments->version) return fmt::print("postrider {}\n", POSTRIDER_VERSION), ok;
    if (arguments->help || arguments->words.empty())
        return print_help(arguments->help ? stdout : stderr), arguments->help ? ok : usage;
    const auto* verb = std::ranges::find(verbs, std::string_view(arguments->words[0]), &Verb::name);
    if (verb == std::end(verbs)) {
        complain(fmt::format("there is no \"{}\"; \"postrider --help\" lists what there is", arguments->words[0]));
        return usage;
    }
    if (verb->words.empty() && arguments->words.size() > 1) {
        complain(fmt::format("\"postrider {}\" takes no \"{}\"", verb->name, arguments->words[1]));
        return usage;
    }
    return verb->run(*arguments);
}
