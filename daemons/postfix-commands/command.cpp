#include "daemons/postfix-commands/command.h"
#include "daemons/common/commands/config_file.h"
#include "daemons/common/ipc/json_lines.h"
#include "daemons/common/process/privileges.h"
#include "daemons/common/commands/effective_config.h"
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
    int (*run)(const Call&); // EX_USAGE: wrong use, not complained about yet
    int failure = 1; // Call::failure
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
    Program{"postcat", "+bc:dehnoqrsv", "usage: postcat [-v] [-b] [-e] [-h] [-q] [file(s) or queue id(s)...]",
            postcat},
    Program{"postconf", "+aAbBc:C:deEfFhHlmMnopPqrtT:vxX#",
            "usage: postconf [-c config_dir] [-d | -n] [-h | -H] [parameter...]", postconf},
    Program{"postmap", "+bc:d:fFhimnNopq:rsuUvw",
            "usage: postmap [-NfinoprsvwU] [-c config_dir] [-d key] [-q key] [map_type:]file...", postmap},
    Program{"postalias", "+c:d:finNopq:rsuvw", "usage: postalias [-sw] [-c config_dir] [-q key] [map_type:]file...",
            postalias},
};

} // namespace

bool Call::has(char option) const {
    return std::ranges::any_of(options, [&](auto& each) { return each.first == option; });
}

std::string Call::value(char option) const {
    std::string out;
    for (const auto& [letter, value] : options)
        if (letter == option) out = value;
    return out;
}

int fatal(const Call& call, std::string_view text) {
    std::fflush(stdout);
    fmt::print(stderr, "{}: fatal: {}\n", call.program, text);
    return call.failure;
}

void warning(const Call& call, std::string_view text) {
    std::fflush(stdout);
    fmt::print(stderr, "{}: warning: {}\n", call.program, text);
}

void info(const Call& call, std::string_view text) {
    std::fflush(stdout);
    fmt::print(stderr, "{}: {}\n", call.program, text);
}

bool is_queue_id(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0; });
}

namespace {

std::string file_of(const Call& call) {
    auto file = common::config_file(call.value('c'));
    struct stat is {};
    if (::stat(file.c_str(), &is) == 0 && S_ISDIR(is.st_mode)) file += "/postrider.toml";
    return file;
}

std::optional<config::Config> refused(const Call& call, const std::vector<config::Problem>& problems) {
    for (const auto& problem : problems) fatal(call, problem.to_string());
    return {};
}

} // namespace

std::optional<config::Config> parse_config(const Call& call) {
    auto config = config::parse_file(file_of(call));
    return config ? *std::move(config) : refused(call, config.error());
}

std::optional<config::Config> config_in_force(const Call& call) {
    auto found = common::settings_in_force(file_of(call));
    if (!found) return refused(call, found.error());
    if (!found->warning.empty()) warning(call, found->warning);
    return std::move(found->config);
}

Answer ask_queue(const config::Config& config, const nlohmann::json& request,
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
    Call call;
    call.program = words.empty() ? "postqueue" : words[0];
    if (const auto slash = call.program.rfind('/'); slash != call.program.npos) call.program.erase(0, slash + 1);
    const auto program = std::ranges::find(programs, call.program, &Program::name);
    if (program == programs.end())
        return fatal(call, "called by a name that is none of postqueue, postsuper, postcat, postconf, postmap, postalias");

    call.failure = program->failure;
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    optind = 0; // start anew
    const auto count = static_cast<int>(words.size());
    for (int letter; (letter = ::getopt(count, argv.data(), program->letters)) != -1;) {
        if (letter == '?') return fatal(call, program->usage); // behind what getopt(3) said itself
        call.options.emplace_back(static_cast<char>(letter), optarg != nullptr ? optarg : "");
    }
    call.words.assign(words.begin() + optind, words.end());
    const int status = program->run(call);
    return status == EX_USAGE ? fatal(call, program->usage) : status;
}

} // namespace postfix_commands
