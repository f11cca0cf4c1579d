#include "libspool/format/layout.h"

namespace spool {

namespace {
std::string two_digits(std::uint8_t n) {
    static constexpr char digits[] = "0123456789abcdef";
    return {digits[n >> 4], digits[n & 15]};
}
} // namespace

std::string directory_of(QueueId id, Location location) {
    if (location == Location::incoming) return "incoming/" + two_digits(id.slot());
    // Multiplicative hash: neighbours in time spread over the directories, so that no single one grows.
    return "messages/" + two_digits(static_cast<std::uint8_t>(id.value * 0x9E3779B97F4A7C15u >> 56));
}

std::string path_of(QueueId id, Location location) { return directory_of(id, location) + "/" + id.text(); }

static constexpr std::string_view reused_suffix = ".reused";

std::string path_of_reused(QueueId file) {
    return directory_of(file, Location::incoming) + "/" + file.text() + std::string(reused_suffix);
}

std::optional<QueueId> reused_file_named(std::string_view name) {
    name = name.substr(name.rfind('/') + 1); // npos + 1 is 0
    if (!name.ends_with(reused_suffix)) return {};
    name.remove_suffix(reused_suffix.size());
    const auto file = QueueId::parse(name);
    if (!file || file->text() != name) return {};
    return file;
}

std::string path_of_removed(QueueId id) { return "removed/" + id.text(); }
std::string path_of_failed(QueueId id) { return "failed/" + id.text(); }

} // namespace spool
