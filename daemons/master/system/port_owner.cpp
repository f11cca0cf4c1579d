#include "daemons/master/system/port_owner.h"
#include "daemons/common/runtime/read_file.h"
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <dirent.h>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <sstream>
#include <unistd.h>

namespace master {

namespace {

constexpr std::size_t most_named = 3;

// "0100007F:0019" (tcp), 32 digits (tcp6): words of four bytes as this machine has them in memory.
std::optional<common::Endpoint> parse_local(std::string_view text) {
    const auto colon = text.find(':');
    if (colon != 8 && colon != 32) return {};
    common::Endpoint at;
    if (colon == 8) at.address = *common::IpAddress::parse("0.0.0.0");
    auto byte = at.address.bytes.begin() + (colon == 8 ? 12 : 0);
    for (std::size_t word = 0; word < colon; word += 8) {
        std::uint32_t value = 0;
        const auto* end = text.data() + word + 8;
        if (std::from_chars(text.data() + word, end, value, 16).ptr != end) return {};
        const auto bytes = std::bit_cast<std::array<std::uint8_t, 4>>(value);
        byte = std::ranges::copy(bytes, byte).out;
    }
    const auto* end = text.data() + text.size();
    if (std::from_chars(text.data() + colon + 1, end, at.port, 16).ptr != end) return {};
    return at;
}

std::string name_of(const std::string& pid) {
    std::string name = common::read_file("/proc/" + pid + "/comm").value_or("");
    while (!name.empty() && name.back() == '\n') name.pop_back();
    return name;
}

struct CloseDirectory {
    void operator()(DIR* directory) const { closedir(directory); }
};

// Calls with the name of each entry until that returns true.
template <class Look> bool any_entry(const std::string& path, Look&& look) {
    const std::unique_ptr<DIR, CloseDirectory> directory(opendir(path.c_str()));
    if (!directory) return false;
    while (const auto* entry = readdir(directory.get()))
        if (entry->d_name[0] != '.' && look(std::string(entry->d_name))) return true;
    return false;
}

bool has_open(const std::string& pid, const std::vector<std::string>& sockets) {
    const auto folder = "/proc/" + pid + "/fd/";
    return any_entry(folder, [&](const std::string& number) {
        char target[64];
        const auto n = readlink((folder + number).c_str(), target, sizeof target);
        return n > 0 &&
               std::ranges::find(sockets, std::string_view(target, static_cast<std::size_t>(n))) != sockets.end();
    });
}

} // namespace

std::vector<std::string> inodes_listening(std::string_view table, const common::Endpoint& wanted) {
    std::vector<std::string> inodes;
    std::istringstream lines{std::string(table)};
    std::string line;
    std::getline(lines, line); // the heading
    while (std::getline(lines, line)) {
        std::istringstream words(line);
        std::string number, local, remote, state, skipped, inode;
        words >> number >> local >> remote >> state;
        for (int i = 0; i < 5; ++i) words >> skipped;
        if (!(words >> inode) || state != "0A" || inode == "0") continue;
        const auto at = parse_local(local);
        if (!at || at->port != wanted.port) continue;
        if (at->address == wanted.address || at->address.is_wildcard() || wanted.address.is_wildcard())
            inodes.push_back(inode);
    }
    return inodes;
}

std::string listening_processes(const common::Endpoint& wanted) {
    std::vector<std::string> sockets;
    for (const auto* path : {"/proc/net/tcp", "/proc/net/tcp6"})
        for (const auto& inode : inodes_listening(common::read_file(path).value_or(""), wanted))
            sockets.push_back("socket:[" + inode + "]");
    if (sockets.empty()) return {};
    std::string text;
    std::size_t named = 0;
    any_entry("/proc", [&](const std::string& pid) {
        if (!std::ranges::all_of(pid, [](char c) { return c >= '0' && c <= '9'; }) || !has_open(pid, sockets))
            return false;
        text += fmt::format("{}{} (pid {})", text.empty() ? "" : ", ", name_of(pid), pid);
        return ++named == most_named;
    });
    return text;
}

} // namespace master
