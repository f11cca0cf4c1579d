#include "daemons/events/erasures.h"
#include "libspool/disk/durable_file.h"
#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

namespace events {

using nlohmann::json;
using spool::Error;
using spool::Result;

namespace {

constexpr std::size_t largest_file = 1 << 20;

json to_json(const ErasureRequest& request) {
    return {{"address", request.address}, {"through", request.through},   {"next", request.next},
            {"events", request.events},   {"segments", request.segments}, {"given_up", request.given_up}};
}

std::optional<ErasureRequest> from_json(const json& value) {
    const auto number = [&](const char* name) -> std::optional<std::uint64_t> {
        const auto found = value.find(name);
        if (found == value.end() || !found->is_number_unsigned()) return {};
        return found->get<std::uint64_t>();
    };
    if (!value.is_object()) return {};
    const auto address = value.find("address");
    if (address == value.end() || !address->is_string()) return {};
    const auto through = number("through"), next = number("next");
    if (!through || !next) return {};
    return ErasureRequest{.address = address->get<std::string>(),
                          .through = *through,
                          .next = *next,
                          .events = number("events").value_or(0),
                          .segments = number("segments").value_or(0),
                          .given_up = number("given_up").value_or(0)};
}

} // namespace

std::string encode(const std::vector<ErasureRequest>& requests) {
    json list = json::array();
    for (const auto& each : requests) list.push_back(to_json(each));
    return json{{"v", 1}, {"requests", std::move(list)}}.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::optional<std::vector<ErasureRequest>> decode_erasures(std::string_view text) {
    const auto whole = json::parse(text, nullptr, false);
    if (!whole.is_object() || !text.ends_with('\n')) return {};
    const auto version = whole.find("v"), list = whole.find("requests");
    if (version == whole.end() || *version != 1 || list == whole.end() || !list->is_array()) return {};
    if (list->size() > Erasures::most) return {};
    std::vector<ErasureRequest> requests;
    for (const auto& each : *list) {
        auto request = from_json(each);
        if (!request) return {};
        requests.push_back(*std::move(request));
    }
    return requests;
}

Result<> Erasures::load(spool::Disk& disk, const std::string& directory) {
    const std::lock_guard lock(mutex_);
    if (loaded_) return {};
    const auto path = directory + '/' + file_name;
    const auto file = disk.open(path, spool::Open::read);
    if (!file && file.error().code != ENOENT) return std::unexpected(file.error());
    if (file) {
        std::string text(largest_file, '\0');
        text.resize(TRY(disk.read(*file, 0, text)));
        auto requests = decode_erasures(text);
        if (!requests)
            return std::unexpected(Error{EBADMSG, path + " is damaged: remove it, and repeat \"postrider history "
                                                         "erase\" for the addresses concerned"});
        pending_ = *std::move(requests);
    }
    loaded_ = true;
    return {};
}

Result<> Erasures::save(spool::Disk& disk, const std::string& directory,
                        const std::vector<ErasureRequest>& requests) const {
    const auto name = directory + '/' + file_name;
    return requests.empty() ? spool::remove_durably(disk, name) : spool::replace_durably(disk, name, encode(requests));
}

Result<> Erasures::add(spool::Disk& disk, const std::string& directory, const std::string& address,
                       std::uint64_t through) {
    TRY(load(disk, directory));
    const std::lock_guard lock(mutex_);
    auto requests = pending_;
    const auto known = std::ranges::find(requests, address, &ErasureRequest::address);
    if (known != requests.end())
        known->through = std::max(known->through, through);
    else if (requests.size() >= most)
        return std::unexpected(Error{EAGAIN, "too many addresses are being erased: try again later"});
    else
        requests.push_back({.address = address, .through = through});
    TRY(save(disk, directory, requests));
    pending_ = std::move(requests);
    std::erase_if(finished_, [&](const ErasureRequest& each) { return each.address == address; });
    return {};
}

std::optional<ErasureRequest> Erasures::current() const {
    const std::lock_guard lock(mutex_);
    if (pending_.empty()) return {};
    return pending_.front();
}

Result<> Erasures::update(spool::Disk& disk, const std::string& directory, const ErasureRequest& current,
                          Progress progress) {
    const std::lock_guard lock(mutex_);
    auto requests = pending_;
    if (requests.empty() || requests.front().address != current.address) return {};
    // It may have been asked for again meanwhile, with more events.
    const bool more = requests.front().through > current.through;
    const auto through = requests.front().through;
    requests.front() = current;
    requests.front().through = through;
    const bool finished = progress == Progress::finished && !more;
    if (finished) requests.erase(requests.begin());
    TRY(save(disk, directory, requests));
    pending_ = std::move(requests);
    if (!finished) return {};
    finished_.push_back(current);
    if (finished_.size() > most) finished_.pop_front();
    return {};
}

std::optional<Erasures::State> Erasures::state_of(std::string_view address) const {
    const std::lock_guard lock(mutex_);
    if (const auto found = std::ranges::find(pending_, address, &ErasureRequest::address); found != pending_.end())
        return State{*found, false};
    if (const auto found = std::ranges::find(finished_, address, &ErasureRequest::address); found != finished_.end())
        return State{*found, true};
    return {};
}

} // namespace events
