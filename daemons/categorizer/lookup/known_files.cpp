#include "daemons/categorizer/lookup/known_files.h"
#include "daemons/common/runtime/read_file.h"
#include "daemons/common/runtime/replace_file.h"
#include <algorithm>
#include <string_view>

namespace categorizer {

namespace {

constexpr std::string_view name = "alias-files";
constexpr std::size_t largest = 64 << 10;

} // namespace

KnownFiles::KnownFiles(common::Log& log, std::string directory) : log_(log), directory_(std::move(directory)) {
    const auto text = common::read_bounded(directory_ + "/" + std::string(name), largest);
    if (!text) return;
    for (std::string_view rest = *text; !rest.empty();) {
        const auto line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (line.starts_with('/')) paths_.emplace(line);
    }
}

void KnownFiles::add(const std::string& path) {
    if (paths_.insert(path).second) write();
}

void KnownFiles::forget_others(const std::vector<std::string>& paths) {
    if (std::erase_if(paths_, [&](const auto& each) { return std::ranges::find(paths, each) == paths.end(); }) != 0)
        write();
}

void KnownFiles::write() {
    std::string text;
    for (const auto& each : paths_) text += each + "\n";
    if (const auto written = common::replace_file(directory_, std::string(name), text); !written)
        log_.warning("{}; after a restart, a missing alias file will not be noticed", written.error().what);
}

} // namespace categorizer
