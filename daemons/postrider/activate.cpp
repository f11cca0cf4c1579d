// activate and deactivate: the names by which programs look for "the" mail system, such as /usr/sbin/sendmail,
// as links to our commands, which live in a directory of our own. Nothing that is not ours is ever touched.
#include "daemons/common/programs.h"
#include "daemons/postrider/command.h"
#include <algorithm>
#include <array>
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

struct Name {
    std::string_view path, program;
};

constexpr std::array names = {
    Name{"/usr/sbin/sendmail", "sendmail"},  Name{"/usr/lib/sendmail", "sendmail"},
    Name{"/usr/bin/mailq", "mailq"},         Name{"/usr/bin/newaliases", "newaliases"},
    Name{"/usr/sbin/postqueue", "postqueue"}, Name{"/usr/sbin/postsuper", "postsuper"},
    Name{"/usr/sbin/postcat", "postcat"},    Name{"/usr/sbin/postconf", "postconf"},
    Name{"/usr/sbin/postmap", "postmap"},    Name{"/usr/sbin/postalias", "postalias"},
};

enum class Finding { free, ours, packaged, foreign, unclear };

struct Place {
    std::string path, target;
    Finding finding = Finding::free;
    std::string what; // packaged, foreign, unclear: why
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

Place look_at(const std::string& root, const Name& name) {
    Place place{root + std::string(name.path), common::program_path(name.program)};
    std::error_code problem;
    const auto status = fs::symlink_status(place.path, problem);
    if (status.type() == fs::file_type::not_found) return place;
    if (problem) {
        place.finding = Finding::unclear;
        place.what = problem.message();
    } else if (fs::is_symlink(status) && fs::read_symlink(place.path, problem) == place.target) {
        const auto package = package_of(root, std::string(name.path));
        place.finding = package.empty() ? Finding::ours : Finding::packaged;
        place.what = "it belongs to the package " + package;
    } else {
        place.finding = Finding::foreign;
        const auto package = package_of(root, std::string(name.path));
        place.what = package.empty() ? "it is there already, and no package owns it" : "it belongs to the package " + package;
    }
    return place;
}

std::vector<Place> look(const Arguments& arguments) {
    auto root = arguments.option("--root").value_or("");
    while (root.ends_with('/')) root.pop_back();
    std::vector<Place> places;
    for (const auto& name : names) places.push_back(look_at(root, name));
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
    const auto places = look(arguments);
    bool refused = false;
    for (const auto& place : places) {
        if (place.finding != Finding::foreign && place.finding != Finding::unclear) continue;
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
        if (place.finding == Finding::ours || place.finding == Finding::packaged) {
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
    return ok;
}

int deactivate(const Arguments& arguments) {
    const bool dry = arguments.has("--dry-run");
    bool any = false;
    const auto places = look(arguments);
    if (const auto packaged = std::ranges::find(places, Finding::packaged, &Place::finding); packaged != places.end()) {
        complain(fmt::format("{}: {}: remove the package", packaged->path, packaged->what));
        return cannot_create;
    }
    for (const auto& place : places) {
        if (place.finding != Finding::ours) continue;
        any = true;
        if (!dry && ::unlink(place.path.c_str()) != 0) return failed(place.path, errno);
        told(arguments, place, dry ? "would remove" : "removed");
    }
    if (any) return ok;
    complain("none of the standard names is linked to our commands");
    return already_so;
}

} // namespace postrider
