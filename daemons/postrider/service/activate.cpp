// activate and deactivate: the names by which programs look for "the" mail system, such as /usr/sbin/sendmail, as
// links to our commands, which are in a directory of our own. Nothing that is not ours is ever touched. The links are
// recorded, so that `check` and `status` can report when one is lost.
#include "daemons/postrider/service/activate.h"
#include "daemons/common/commands/standard_names.h"
#include "daemons/common/process/programs.h"
#include "daemons/postrider/command/command.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace postrider {

namespace {

namespace fs = std::filesystem;
using common::NameState;

struct StandardLink {
    std::string path, target;
    common::NameState state = common::NameState::free;
    std::string what, package; // foreign, unclear: why; the package it belongs to, if dpkg knows it
};

// The package that a path belongs to, as dpkg's lists have it; "" none.
std::string package_of(const std::string& root, const std::string& path) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(root + "/var/lib/dpkg/info", none)) {
        if (entry.path().extension() != ".list") continue;
        std::ifstream list(entry.path());
        for (std::string line; std::getline(list, line);)
            if (line == path) return entry.path().stem();
    }
    return "";
}

// A package that brings links to our programs. Another one lists the names of files that were removed to make room for
// our links, until it is removed itself.
bool is_ours(std::string_view package) { return package.starts_with("postrider"); }

StandardLink inspect_link(const std::string& root, const common::StandardName& name) {
    const auto found = common::check_name(root, name);
    StandardLink link{root + std::string(name.path), common::program_path(name.program), found.state, found.what, ""};
    if (link.state != NameState::free) link.package = package_of(root, std::string(name.path));
    if (link.state == NameState::foreign)
        link.what = link.package.empty() ? "it already exists and belongs to no package"
                                         : "it belongs to the package " + link.package;
    return link;
}

std::string root_of(const Arguments& arguments) {
    auto root = arguments.option("--root").value_or("");
    while (root.ends_with('/')) root.pop_back();
    return root;
}

std::vector<StandardLink> inspect_links(const std::string& root) {
    std::vector<StandardLink> links;
    for (const auto& name : common::standard_names) links.push_back(inspect_link(root, name));
    return links;
}

int report_failure(const std::string& path, int error) {
    print_error(fmt::format("{}: {}{}", path, std::strerror(error),
                            error == EACCES || error == EPERM ? "; only root may do this" : ""));
    return error == EACCES || error == EPERM || error == EROFS ? no_permission : system_error;
}

void print_result(const Arguments& arguments, const StandardLink& link, std::string_view what) {
    if (arguments.json)
        print_json({{"version", 1}, {"path", link.path}, {"program", link.target}, {"action", what}});
    else
        fmt::print("{:<12} {} -> {}\n", what, link.path, link.target);
}

} // namespace

int activate(const Arguments& arguments) {
    const auto root = root_of(arguments);
    const auto links = inspect_links(root);
    bool refused = false;
    for (const auto& link : links) {
        if (link.state != NameState::foreign && link.state != NameState::unclear) continue;
        print_error(fmt::format("{}: {}", link.path, link.what));
        refused = true;
    }
    if (refused) {
        print_error(fmt::format("nothing was changed; remove these files, or use Postrider's commands under their "
                                "own names: {}",
                                common::program_path("sendmail")));
        return cannot_create;
    }
    for (const auto& link : links)
        if (::access(link.target.c_str(), X_OK) != 0) return report_failure(link.target, errno);
    const bool dry = arguments.has("--dry-run");
    for (const auto& link : links) {
        if (link.state == NameState::ours) {
            print_result(arguments, link, "already so");
        } else if (dry) {
            print_result(arguments, link, "would link");
        } else {
            std::error_code ignored;
            fs::create_directories(fs::path(link.path).parent_path(), ignored);
            if (::symlink(link.target.c_str(), link.path.c_str()) != 0) return report_failure(link.path, errno);
            print_result(arguments, link, "linked");
        }
    }
    const bool packaged = std::ranges::all_of(links, [](const auto& link) { return is_ours(link.package); });
    if (dry || packaged) return ok; // a package keeps its own links
    if (const int error = common::record_activation(root); error != 0)
        return report_failure(common::activation_record(root), error);
    return ok;
}

int deactivate(const Arguments& arguments) {
    const bool dry = arguments.has("--dry-run");
    const auto root = root_of(arguments);
    bool any = false;
    const auto links = inspect_links(root);
    for (const auto& link : links) {
        if (link.state != NameState::ours || !is_ours(link.package)) continue;
        print_error(fmt::format("{}: it belongs to the package {}: remove the package", link.path, link.package));
        return cannot_create;
    }
    for (const auto& link : links) {
        if (link.state != NameState::ours) continue;
        any = true;
        if (!dry && ::unlink(link.path.c_str()) != 0) return report_failure(link.path, errno);
        print_result(arguments, link, dry ? "would remove" : "removed");
    }
    if (!dry)
        if (const int error = common::clear_activation(root); error != 0)
            return report_failure(common::activation_record(root), error);
    if (any) return ok;
    print_error("none of the standard names is linked to Postrider's commands");
    return already_so;
}

} // namespace postrider
