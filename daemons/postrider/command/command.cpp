#include "daemons/postrider/command/command.h"
#include "daemons/common/proto/control.h"
#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>

namespace postrider {

spool::Result<ipc::JsonClient> ask_at(const config::Config& config, std::string_view socket) {
    return ipc::JsonClient::connect(config.spool.directory + "/run/" + std::string(socket));
}

bool means_not_running(const spool::Error& error) {
    return error.code == ENOENT || error.code == ECONNREFUSED;
}

int explain(const spool::Error& error, const config::Config& config) {
    if (means_not_running(error)) {
        complain("it is not running; \"postrider start\" starts it");
        return not_running;
    }
    complain(error.what);
    if (error.code != EACCES && error.code != EPERM) return unavailable;
    complain(fmt::format("this is for root and members of the group {0} (mta.admin_group): \"adduser NAME {0}\", as root, "
                         "adds a member, who then has to log in again",
                         config.mta.admin_group));
    return no_permission;
}

namespace {

int status_of(std::string_view refusal) {
    namespace code = proto::control::code;
    if (refusal == code::bad_request) return usage;
    if (refusal == code::unknown || refusal == code::no_match) return not_found;
    if (refusal == code::already || refusal == code::in_delivery) return already_so;
    if (refusal == code::loading) return try_again;
    if (refusal == code::failed) return disk_error;
    return unavailable;
}

} // namespace

int ask_queue(const Arguments& arguments, const nlohmann::json& request,
              const std::function<void(const nlohmann::json&)>& on_line, int seconds) {
    const auto config = config_in_force(arguments);
    if (!config) return bad_config;
    auto queue = ask_at(*config, "control");
    if (!queue) return explain(queue.error(), *config);
    const auto done = queue->ask(request, on_line, seconds);
    if (done) return ok;
    if (queue->refusal().empty()) return explain(done.error(), *config);
    complain(done.error().what);
    return status_of(queue->refusal());
}

std::optional<Choice> choose(std::span<const std::string> words) {
    std::vector<std::string> piped;
    if (std::ranges::find(words, "-") != words.end())
        for (std::string word; std::cin >> word;) piped.push_back(word);
    auto choice = Choice::parse(words, piped);
    if (choice) return *std::move(choice);
    complain(choice.error());
    return {};
}

int read_failed(const std::string& name, const spool::Error& error) {
    if (error.code == ENOENT) {
        complain(fmt::format("there is no message {}", name));
        return not_found;
    }
    complain(error.what);
    if (error.code != EACCES && error.code != EPERM) return unavailable;
    complain("the spool is read by root and the user the MTA runs as");
    return no_permission;
}

int read_failed(const std::string& name, const spool::ReadError& error) {
    if (const auto* world = std::get_if<spool::Error>(&error)) return read_failed(name, *world);
    complain(fmt::format("{} is no whole message: {}", name, spool::text_of(error)));
    return data_error;
}

} // namespace postrider
