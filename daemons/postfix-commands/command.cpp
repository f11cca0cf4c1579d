#include "daemons/postfix-commands/command.h"
#include "daemons/common/commands/config_file.h"
#include "daemons/common/config/config.h"
#include "daemons/common/config/load.h"
#include "daemons/common/ipc/json_lines.h"
#include "daemons/common/lookup/tables/tables.h"
#include "daemons/common/process/privileges.h"
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

namespace postfix_commands {

namespace {

struct Program {
    std::string_view name;
    const char* letters; // of getopt(3)
    std::string_view usage;
    int (*run)(const Invocation&); // EX_USAGE: wrong use, not complained about yet
    int failure_status = 1;        // Invocation::failure_status
};

constexpr std::array programs = {
    Program{"postqueue", "+c:fi:jps:v",
            "usage: postqueue [-v] -f | postqueue [-v] -i queueid | postqueue [-v] -j | postqueue [-v] -p | "
            "postqueue [-v] -s site",
            postqueue, EX_UNAVAILABLE},
    Program{"postsuper", "+c:d:e:f:h:H:pr:sSv",
            "usage: postsuper [-v] [-c config_dir] [-d queue_id] [-e queue_id] [-f queue_id] [-h queue_id] "
            "[-H queue_id] [-r queue_id] [-p] [-s] [directory...]",
            postsuper},
    Program{"postcat", "+bc:dehnoqrsv", "usage: postcat [-v] [-b] [-e] [-h] [-q] [file(s) or queue id(s)...]", postcat},
    Program{"postconf", "+aAbBc:C:deEfFhHlmMnopPqrtT:vxX#",
            "usage: postconf [-c config_dir] [-d | -n] [-h | -H] [parameter...]", postconf},
    Program{"postmap", "+bc:d:fFhimnNopq:rsuUvw",
            "usage: postmap [-NfinoprsvwU] [-c config_dir] [-d key] [-q key] [map_type:]file...", postmap},
    Program{"postalias", "+c:d:finNopq:rsuvw", "usage: postalias [-sw] [-c config_dir] [-q key] [map_type:]file...",
            postalias},
};

} // namespace

bool Invocation::has(char option) const {
    return std::ranges::any_of(options, [&](auto& each) { return each.first == option; });
}

std::string Invocation::value(char option) const {
    std::string out;
    for (const auto& [letter, value] : options)
        if (letter == option) out = value;
    return out;
}

int fatal(const Invocation& invocation, std::string_view text) {
    std::fflush(stdout);
    fmt::print(stderr, "{}: fatal: {}\n", invocation.program, text);
    return invocation.failure_status;
}

void warning(const Invocation& invocation, std::string_view text) {
    std::fflush(stdout);
    fmt::print(stderr, "{}: warning: {}\n", invocation.program, text);
}

void info(const Invocation& invocation, std::string_view text) {
    std::fflush(stdout);
    fmt::print(stderr, "{}: {}\n", invocation.program, text);
}

bool may_be_queue_id(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0; });
}

namespace {

std::string file_of(const Invocation& invocation) {
    auto file = common::config_file(invocation.value('c'));
    struct stat is{};
    if (::stat(file.c_str(), &is) == 0 && S_ISDIR(is.st_mode)) file += "/postrider.toml";
    return file;
}

template <class T>
std::optional<T> or_print_problems(const Invocation& invocation,
                                   std::expected<T, std::vector<config::Problem>> config) {
    if (config) return *std::move(config);
    for (const auto& problem : config.error()) fatal(invocation, problem.to_string());
    return {};
}

} // namespace

std::optional<config::Config> parse_config(const Invocation& invocation) {
    return or_print_problems(invocation, config::parse_file(file_of(invocation)));
}

std::optional<TableSources> parse_tables(const Invocation& invocation) {
    auto config = parse_config(invocation);
    if (!config) return {};
    return TableSources{std::move(config->tables), tables::maps_socket(config->spool.directory)};
}

std::optional<common::EffectiveConfig> load_effective_config(const Invocation& invocation) {
    auto found = common::effective_config(file_of(invocation));
    if (found && !found->warning.empty()) warning(invocation, found->warning);
    return or_print_problems(invocation, std::move(found));
}

QueueReply ask_queue(const common::EffectiveConfig& config, const nlohmann::json& request,
                     const std::function<void(const nlohmann::json&)>& on_line) {
    auto queue = ipc::JsonClient::connect(config.spool.directory + "/run/control");
    if (!queue) {
        const auto code = queue.error().code;
        if (code == EACCES || code == EPERM)
            return {false, "",
                    "use of this command is reserved for root, the user the mail system runs as and members of " +
                        config.mta.admin_group};
        return {false, "", "the mail system is down; \"postrider start\" starts it"};
    }
    const auto done = queue->ask(request, on_line, 120);
    if (done) return {true, "", ""};
    return {false, queue->refusal(), done.error().what};
}

int run(std::vector<std::string> words) {
    common::keep_standard_descriptors();
    std::signal(SIGPIPE, SIG_IGN);
    Invocation invocation;
    invocation.program = words.empty() ? "postqueue" : words[0];
    if (const auto slash = invocation.program.rfind('/'); slash != invocation.program.npos)
        invocation.program.erase(0, slash + 1);
    const auto program = std::ranges::find(programs, invocation.program, &Program::name);
    if (program == programs.end())
        return fatal(invocation, "called by an unknown name: expected postqueue, postsuper, postcat, postconf, postmap "
                                 "or postalias");

    invocation.failure_status = program->failure_status;
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    optind = 0; // start again
    const auto count = static_cast<int>(words.size());
    for (int letter; (letter = ::getopt(count, argv.data(), program->letters)) != -1;) {
        if (letter == '?') return fatal(invocation, program->usage); // behind what getopt(3) said itself
        invocation.options.emplace_back(static_cast<char>(letter), optarg != nullptr ? optarg : "");
    }
    invocation.words.assign(words.begin() + optind, words.end());
    const int status = program->run(invocation);
    return status == EX_USAGE ? fatal(invocation, program->usage) : status;
}

} // namespace postfix_commands
