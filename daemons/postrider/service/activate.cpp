// activate and deactivate: the names by which programs look for "the" mail system, such as /usr/sbin/sendmail,
// as links to our commands, which live in a directory of our own. Nothing that is not ours is ever touched.
// A note of the links is kept, so that `check` and `status` can report when one is lost.
#include "daemons/common/process/programs.h"
#include "daemons/common/commands/standard_names.h"
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

struct Place {
    std::string path, target;
    common::NameState state = common::NameState::free;
    std::string what, package; // foreign, unclear: why; whose it is, where dpkg knows it
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

Place place_of(const std::string& root, const common::StandardName& name) {
    const auto found = common::look_at(root, name);
    Place place{root + std::string(name.path), common::program_path(name.program), found.state, found.what, ""};
    if (place.state != NameState::free) place.package = package_of(root, std::string(name.path));
    if (place.state == NameState::foreign)
        place.what = place.package.empty() ? "it is there already, and no package owns it" : "it belongs to the package " + place.package;
    return place;
}

std::string root_of(const Arguments& arguments) {
    auto root = arguments.option("--root").value_or("");
    while (root.ends_with('/')) root.pop_back();
    return root;
}

std::vector<Place> look(const std::string& root) {
    std::vector<Place> places;
    for (const auto& name : common::standard_names) places.push_back(place_of(root, name));
    return places;
}

int failed(const std::string& path, int error) {
    complain(fmt::format("{}: {}{}", path, std::strerror(error),
                         error == EACCES || error == EPERM ? "; this is for root" : ""));
    return error == EACCES || error == EPERM || error == EROFS ? no_permission : system_error;
}

void told(const Arguments& arguments, const Place& place, std::string_view what) {
    if (arguments.json)
        print_json({{"version", 1}, {"path", place.path}, {"program", place.target}, {"done", what}});
    else
        fmt::print("{:<12} {} -> {}\n", what, place.path, place.target);
}

} // namespace

int activate(const Arguments& arguments) {
    const auto root = root_of(arguments);
    const auto places = look(root);
    bool refused = false;
    for (const auto& place : places) {
        if (place.state != NameState::foreign && place.state != NameState::unclear) continue;
        complain(fmt::format("{}: {}", place.path, place.what));
        refused = true;
    }
    if (refused) {
        complain(fmt::format("nothing was changed; remove what is in the way, or call our commands by their own names: {}",
                             common::program_path("sendmail")));
        return cannot_create;
    }
    for (const auto& place : places)
        if (::access(place.target.c_str(), X_OK) != 0) return failed(place.target, errno);
    const bool dry = arguments.has("--dry-run");
    for (const auto& place : places) {
        if (place.state == NameState::ours) {
            told(arguments, place, "already so");
        } else if (dry) {
            told(arguments, place, "would link");
        } else {
            std::error_code ignored;
            fs::create_directories(fs::path(place.path).parent_path(), ignored);
            if (::symlink(place.target.c_str(), place.path.c_str()) != 0) return failed(place.path, errno);
            told(arguments, place, "linked");
        }
    }
    const bool packaged = std::ranges::none_of(places, [](const auto& place) { return place.package.empty(); });
    if (dry || packaged) return ok; // nobody takes from a package what is its own
    if (const int error = common::note_activation(root); error != 0) return failed(common::activation_note(root), error);
    return ok;
}

int deactivate(const Arguments& arguments) {
    const bool dry = arguments.has("--dry-run");
    const auto root = root_of(arguments);
    bool any = false;
    const auto places = look(root);
    for (const auto& place : places) {
        if (place.state != NameState::ours || place.package.empty()) continue;
        complain(fmt::format("{}: it belongs to the package {}: remove the package", place.path, place.package));
        return cannot_create;
    }
    for (const auto& place : places) {
        if (place.state != NameState::ours) continue;
        any = true;
        if (!dry && ::unlink(place.path.c_str()) != 0) return failed(place.path, errno);
        told(arguments, place, dry ? "would remove" : "removed");
    }
    if (!dry)
        if (const int error = common::forget_activation(root); error != 0) return failed(common::activation_note(root), error);
    if (any) return ok;
    complain("none of the standard names is linked to our commands");
    return already_so;
}

} // namespace postrider
