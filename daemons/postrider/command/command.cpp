#include "daemons/postrider/command/command.h"
#include "daemons/common/proto/control.h"
#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>

namespace postrider {

spool::Result<ipc::JsonClient> connect_control(const config::Spool& spool, std::string_view socket) {
    return ipc::JsonClient::connect(spool.directory + "/run/" + std::string(socket));
}

bool is_not_running(const spool::Error& error) { return error.code == ENOENT || error.code == ECONNREFUSED; }

int report_socket_error(const spool::Error& error, const config::Mta& mta) {
    if (is_not_running(error)) {
        print_error("it is not running; \"postrider start\" starts it");
        return not_running;
    }
    print_error(error.what);
    if (error.code != EACCES && error.code != EPERM) return unavailable;
    print_error(fmt::format("only root and members of the group {0} (mta.admin_group) may do this: \"adduser NAME "
                            "{0}\", as root, adds a member, who then has to log in again",
                            mta.admin_group));
    return no_permission;
}

namespace {

int exit_status_for(std::string_view refusal) {
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
    return ask_queue(
        arguments, request, on_line, [](const std::string& refusal) { return fail(not_found, refusal); }, seconds);
}

int ask_queue(const Arguments& arguments, const nlohmann::json& request,
              const std::function<void(const nlohmann::json&)>& on_line, const IfUnknown& if_unknown, int seconds) {
    const auto config = load_effective_config(arguments);
    if (!config) return bad_config;
    auto queue = connect_control(config->spool, "control");
    if (!queue) return report_socket_error(queue.error(), config->mta);
    const auto done = queue->ask(request, on_line, seconds);
    if (done) return ok;
    if (queue->refusal().empty()) return report_socket_error(done.error(), config->mta);
    if (queue->refusal() == proto::control::code::unknown) return if_unknown(done.error().what);
    print_error(done.error().what);
    return exit_status_for(queue->refusal());
}

std::optional<MessageSelector> parse_selector(std::span<const std::string> words) {
    std::vector<std::string> piped;
    if (std::ranges::find(words, "-") != words.end())
        for (std::string word; std::cin >> word;) piped.push_back(word);
    auto selector = MessageSelector::parse(words, piped);
    if (selector) return *std::move(selector);
    print_error(selector.error());
    return {};
}

int report_read_error(const std::string& name, const spool::Error& error) {
    if (error.code == ENOENT) {
        print_error(fmt::format("there is no message {}", name));
        return not_found;
    }
    print_error(error.what);
    if (error.code != EACCES && error.code != EPERM) return unavailable;
    print_error("only root and the user of the MTA may read the spool");
    return no_permission;
}

int report_read_error(const std::string& name, const spool::ReadError& error) {
    if (const auto* io_error = std::get_if<spool::Error>(&error)) return report_read_error(name, *io_error);
    print_error(fmt::format("{} is not a complete message: {}", name, spool::text_of(error)));
    return data_error;
}

} // namespace postrider
