#include "daemons/fleet/keys/key_entry.h"
#include "daemons/fleet/redis/node_name.h"
#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace fleet {

namespace {

constexpr std::pair<char, KeyEntry::State> letters[] = {
    {'R', KeyEntry::State::reserved}, {'P', KeyEntry::State::pledged}, {'A', KeyEntry::State::accepted}};
constexpr std::size_t digest_digits = 64, id_digits = 14;

int value_of(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

} // namespace

std::string hex_of(std::string_view bytes) {
    std::string out;
    for (const unsigned char byte : bytes) out += fmt::format("{:02x}", byte);
    return out;
}

std::optional<std::string> bytes_of_hex(std::string_view digits) {
    if (digits.size() % 2 != 0) return {};
    std::string out;
    for (std::size_t n = 0; n < digits.size(); n += 2) {
        const int high = value_of(digits[n]), low = value_of(digits[n + 1]);
        if (high < 0 || low < 0) return {};
        out += static_cast<char>(high * 16 + low);
    }
    return out;
}

std::string KeyEntry::tail() const { return fmt::format("{} {} {}", hex_of(digest), id.text(), node); }

std::string KeyEntry::text() const {
    const auto* const letter = std::ranges::find(letters, state, &std::pair<char, State>::second);
    return fmt::format("{} {}", letter->first, tail());
}

std::optional<KeyEntry> KeyEntry::parse(std::string_view text) {
    constexpr std::size_t at_digest = 2, at_id = at_digest + digest_digits + 1, at_node = at_id + id_digits + 1;
    if (text.size() <= at_node || text[1] != ' ' || text[at_id - 1] != ' ' || text[at_node - 1] != ' ') return {};
    const auto* const state = std::ranges::find(letters, text[0], &std::pair<char, State>::first);
    const auto digest = bytes_of_hex(text.substr(at_digest, digest_digits));
    const auto id = spool::QueueId::parse(text.substr(at_id, id_digits));
    const auto node = text.substr(at_node);
    if (state == std::ranges::end(letters) || !digest || !id || !id->valid() || !is_node_name(node)) return {};
    return KeyEntry{.state = state->second, .digest = *digest, .id = *id, .node = std::string(node)};
}

} // namespace fleet
