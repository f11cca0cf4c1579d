#include "daemons/postrider/queue/erase.h"
#include "daemons/common/history/history_query.h"
#include "daemons/common/proto/control.h"
#include "daemons/common/proto/hook_control.h"
#include "daemons/common/terminal/text.h"
#include "daemons/postrider/command/command.h"
#include "libsmtp/message/address.h"
#include "libspool/disk/real_disk.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <thread>

namespace postrider {

using nlohmann::json;
namespace queue_op = proto::control::op;
namespace events_op = proto::hook_control::op;

namespace {

constexpr auto between_looks = std::chrono::milliseconds(200);
constexpr auto longest_silence = std::chrono::seconds(60); // while the events process does not answer
constexpr std::size_t ids_at_a_time = 1000;
constexpr const char* failed_directory = "failed";

bool names(const spool::MessageState& state, const std::string& address) {
    const auto same = [&](const std::string& other) { return history::lowered(other) == address; };
    const auto& envelope = state.envelope;
    return same(envelope.reverse_path) ||
           std::ranges::any_of(state.recipients, [&](const auto& each) { return same(each.address); }) ||
           std::ranges::any_of(envelope.recipients,
                               [&](const auto& each) { return same(each.address) || same(each.original); });
}

// Those of the messages in failed/ whose envelopes name the address.
spool::Result<std::vector<std::string>> kept_messages(const std::string& spool, const std::string& address) {
    auto disk = TRY(spool::RealDisk::open_at(spool));
    const auto files = disk->list(failed_directory);
    std::vector<std::string> found;
    if (!files && files.error().code == ENOENT) return found;
    for (const auto& name : TRY(files)) {
        const auto message = spool::MessageReader::open_path(*disk, fmt::format("{}/{}", failed_directory, name));
        if (message && names(message->state(), history::lowered(address))) found.push_back(name);
    }
    return found;
}

class Eraser {
public:
    Eraser(const Arguments& arguments, const common::EffectiveConfig& config)
        : arguments_(arguments), config_(config), address_(arguments.words.front()) {}

    int run() {
        if (const int status = forget_kept(); status != ok) return status;
        std::int64_t through = 0;
        const int status = ask_queue(arguments_, {{"op", queue_op::end_segment}},
                                     [&](const json& line) { through = number_of(line, "through"); });
        if (status != ok) return status;
        if (const int asked = ask_events({{"op", events_op::erase}, {"address", address_}, {"through", through}});
            asked != ok)
            return asked;
        return wait();
    }

private:
    int forget_kept() {
        const auto kept = kept_messages(config_.spool.directory, address_);
        if (!kept) return report_read_error(failed_directory, kept.error());
        for (std::size_t at = 0; at < kept->size(); at += ids_at_a_time) {
            const std::vector<std::string> some(
                kept->begin() + static_cast<std::ptrdiff_t>(at),
                kept->begin() + static_cast<std::ptrdiff_t>(std::min(at + ids_at_a_time, kept->size())));
            const int status = ask_queue(arguments_, {{"op", queue_op::forget}, {"ids", some}},
                                         [&](const json& line) { forgotten_ += number_of(line, "removed"); });
            if (status != ok) return status;
        }
        return ok;
    }

    int ask_events(const json& request) {
        auto events = connect_control(config_.spool, "hooks");
        if (!events) return report_socket_error(events.error(), config_.mta);
        const auto done = events->ask(request, [](const json&) {}, 30);
        if (done) return ok;
        if (events->refusal().empty()) return report_socket_error(done.error(), config_.mta);
        return fail(unavailable, done.error().what);
    }

    // It may be restarted meanwhile; then what has been finished is not known any longer, and what is pending is.
    int wait() {
        auto answered = std::chrono::steady_clock::now();
        for (;;) {
            json state;
            auto events = connect_control(config_.spool, "hooks");
            const bool answers = events && events
                                               ->ask(
                                                   {{"op", events_op::erasure}, {"address", address_}},
                                                   [&](const json& line) { state = line; }, 10)
                                               .has_value();
            const auto now = std::chrono::steady_clock::now();
            if (answers) answered = now;
            if (answers && (flag_of(state, "finished") || !flag_of(state, "known"))) return report(state);
            if (now - answered > longest_silence)
                return fail(unavailable, "the events process does not answer; what is left is erased when it runs "
                                         "again");
            std::this_thread::sleep_for(between_looks);
        }
    }

    int report(const json& state) const {
        const auto events = number_of(state, "events"), segments = number_of(state, "segments"),
                   given_up = number_of(state, "given_up");
        if (arguments_.json)
            print_json({{"version", 1},
                        {"address", address_},
                        {"events", events},
                        {"segments", segments},
                        {"given_up", given_up},
                        {"kept_messages", forgotten_}});
        else
            fmt::print("{} is erased: {} in {} of the journal, {} that hooks gave up, {} of failed mail\n", address_,
                       count_text(events, "event"), count_text(segments, "segment"), given_up,
                       count_text(forgotten_, "kept message"));
        return ok;
    }

    const Arguments& arguments_;
    const common::EffectiveConfig& config_;
    const std::string address_;
    std::int64_t forgotten_ = 0;
};

} // namespace

int history_erase(const Arguments& arguments) {
    const auto& address = arguments.words.front();
    if (!smtp::Mailbox::parse(address) || !address.contains('@'))
        return fail(usage, fmt::format("\"{}\" is not an address such as ann@example.org", address));
    const auto config = load_effective_config(arguments);
    if (!config) return bad_config;
    if (!config->history.enabled) return fail(unavailable, "history.enabled is false: nothing is recorded");
    return Eraser(arguments, *config).run();
}

} // namespace postrider
