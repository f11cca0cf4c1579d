#include "daemons/common/commands/standard_names.h"
#include "daemons/common/process/programs.h"
#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <unistd.h>

namespace common {

namespace fs = std::filesystem;

NameStatus check_name(const std::string& root, const StandardName& name) {
    const auto path = root + std::string(name.path);
    std::error_code problem;
    const auto status = fs::symlink_status(path, problem);
    if (status.type() == fs::file_type::not_found) return {};
    if (problem) return {NameState::unclear, problem.message()};
    bool ours = false;
    if (fs::is_symlink(status)) { // a package's links are relative
        const auto target = fs::path(name.path).parent_path() / fs::read_symlink(path, problem);
        ours = target.lexically_normal() == fs::path(program_path(name.program)).lexically_normal();
    }
    return {ours ? NameState::ours : NameState::foreign, ""};
}

std::string activation_record(const std::string& root) { return root + "/var/lib/postrider/activated"; }

int record_activation(const std::string& root) {
    const fs::path file = activation_record(root);
    std::error_code problem;
    fs::create_directories(file.parent_path(), problem);
    if (problem) return problem.value();
    errno = 0;
    std::ofstream out(file);
    out << "# Created by \"postrider activate\": names that are links to Postrider's programs and must "
           "remain so.\n";
    for (const auto& name : standard_names) out << name.path << '\n';
    out.close();
    return out ? 0 : errno != 0 ? errno : EIO;
}

int clear_activation(const std::string& root) {
    return ::unlink(activation_record(root).c_str()) == 0 || errno == ENOENT ? 0 : errno;
}

std::string lost_names_warning(const std::string& root) {
    std::error_code unknown;
    if (!fs::exists(activation_record(root), unknown)) return {};
    std::vector<std::string> gone, taken;
    for (const auto& name : standard_names) {
        const auto found = check_name(root, name);
        if (found.state == NameState::free) gone.push_back(root + std::string(name.path));
        if (found.state == NameState::foreign) taken.push_back(root + std::string(name.path));
    }
    if (gone.empty() && taken.empty()) return {};
    std::string text;
    if (!gone.empty())
        text = fmt::format("{}: missing, although \"postrider activate\" created it: programs that run it fail",
                           fmt::join(gone, ", "));
    if (!taken.empty())
        text += fmt::format(
            "{}{}: replaced by another mail system, although \"postrider activate\" created it: mail submitted there "
            "goes to "
            "that system",
            text.empty() ? "" : "; ", fmt::join(taken, ", "));
    return text +
           (taken.empty() ? "; run \"postrider activate\" to restore it"
                          : "; remove its package and run \"postrider activate\"") +
           ", or \"postrider deactivate\" to accept the change";
}

} // namespace common
