#include "daemons/local/as_user/user_file.h"
#include "daemons/common/lookup/aliases/alias_targets.h"
#include "libsmtp/text/text.h"
#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace local {
namespace user_file {

using proto::user_files::Answer;
using proto::user_files::largest_file;
using proto::user_files::Status;

namespace {

Answer refused(const std::string& path, std::string_view why) {
    return {0, Status::refused, path, "", fmt::format("{} {}", path, why)};
}
Answer unreadable(const std::string& path, std::string_view why) {
    return {0, Status::unreadable, path, "", fmt::format("{}: {}", path, why)};
}

// What waiting cannot fix is the file's fault; everything else is the system's, and may pass.
Answer because(const std::string& path, int error) {
    switch (error) {
    case ENOENT:
    case ENOTDIR: return {};
    case ELOOP: return refused(path, "is a symbolic link");
    case EACCES:
    case EPERM: return refused(path, "cannot be read by its own user");
    case EISDIR:
    case ENXIO:
    case ENODEV:
    case ENAMETOOLONG: return refused(path, "is not a plain file");
    default: return unreadable(path, std::strerror(error));
    }
}

bool fits_a_name(std::string_view extension) {
    return !extension.empty() && extension.size() <= 64 && extension.front() != '.' &&
           extension.find_first_of(std::string_view("/\0", 2)) == extension.npos;
}

} // namespace

std::vector<std::string> candidate_paths(const std::vector<std::string>& forward, std::string_view user,
                                         std::string_view home, std::string_view extension) {
    const std::pair<std::string_view, std::string_view> words[] = {
        {"{home}", home}, {"{user}", user}, {"{extension}", fits_a_name(extension) ? extension : ""}};
    std::vector<std::string> out;
    for (std::string_view rest : forward) {
        std::string path;
        bool whole = true;
        while (!rest.empty()) {
            const auto word = std::ranges::find_if(words, [&](const auto& w) { return rest.starts_with(w.first); });
            if (word == std::end(words)) {
                path.push_back(rest.front());
                rest.remove_prefix(1);
                continue;
            }
            whole = whole && !word->second.empty();
            path += word->second;
            rest.remove_prefix(word->first.size());
        }
        if (whole && path.starts_with('/')) out.push_back(std::move(path));
    }
    return out;
}

Answer read(const std::string& path, std::uint32_t owner) {
    // A FIFO or a device must not block us before we have seen what it is.
    const common::Fd fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (!fd) return because(path, errno);
    struct stat found;
    if (fstat(fd.number(), &found) != 0) return because(path, errno);
    if (!S_ISREG(found.st_mode)) return refused(path, "is not a plain file");
    if (found.st_uid != owner && found.st_uid != 0)
        return refused(path, fmt::format("belongs to user {}, not to {}", found.st_uid, owner));
    if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return refused(
            path, fmt::format("is writable by others (mode {:04o}): chmod go-w fixes this", found.st_mode & 07777u));
    Answer out{0, Status::found, path, "", ""};
    char block[16 * 1024];
    while (out.text.size() <= largest_file) {
        const auto n = ::read(fd.number(), block, sizeof block);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return because(path, errno);
        if (n == 0) break;
        out.text.append(block, static_cast<std::size_t>(n));
    }
    if (out.text.size() > largest_file) return refused(path, fmt::format("is larger than {} KiB", largest_file / 1024));
    if (out.text.find('\0') != out.text.npos) return refused(path, "contains NUL bytes: not a text");
    return out;
}

namespace {

constexpr int max_includes = 100; // as when recipients are looked up

// In one file, and those that it includes. Nothing: there is no such file, or it must not be trusted.
std::expected<std::optional<bool>, std::string> named_in(const std::string& path, std::string_view target,
                                                         std::uint32_t uid, int& includes) {
    using Kind = decide::AliasTarget::Kind;
    const auto said = read(path, uid);
    if (said.status == Status::unreadable) return std::unexpected(said.why);
    if (said.status != Status::found) return std::nullopt;
    for (const auto& one : common::TargetList::parse(said.text).targets) {
        if (one.kind == Kind::command && target.starts_with('|') && target.substr(1) == one.value) return true;
        if (one.kind == Kind::file && target == one.value) return true;
        if (one.kind != Kind::include || !one.value.starts_with('/') || ++includes > max_includes) continue;
        auto found = named_in(one.value, target, uid, includes);
        if (!found || found->value_or(false)) return found;
    }
    return false;
}

} // namespace

std::expected<bool, std::string> are_referenced(const TargetReference& names, std::string_view user,
                                                std::string_view home, std::uint32_t uid) {
    if (home == "/") home = ""; // not a user's home
    for (const auto& place : candidate_paths(names.forward, user, home, names.extension)) {
        int includes = 0;
        const auto found = named_in(place, names.target, uid, includes);
        if (!found) return std::unexpected(found.error());
        if (*found) return **found; // the first existing file decides
    }
    return false;
}

std::optional<Verdict> reject_unless_referenced(const TargetReference& names, const as_user::UserIdentity& person) {
    if (names.target.empty()) return {};
    const auto found = are_referenced(names, person.name, person.home, person.uid);
    if (!found) return deferred("4.3.0", found.error());
    return *found ? std::nullopt : std::optional(not_referenced(names.target, person.name));
}

Verdict not_referenced(std::string_view target, std::string_view user) {
    return deferred("4.3.5", fmt::format("refused: \"{}\" as user {} is no longer in any alias file or "
                                         ".forward file; postrider message requeue looks the recipient up "
                                         "again",
                                         smtp::printable(target, 128), smtp::printable(user, 64)));
}

Answer answer(const ReadRequest& order) {
    std::uint32_t owner = geteuid();
    std::string home = order.home;
    if (order.change) {
        const auto user = common::look_up_user(order.user);
        if (!user && user.error().code == ENOENT) return {}; // what has no user has no files
        if (!user) return {0, Status::unreadable, "", "", user.error().what};
        // Root's files are not read, because no mail is delivered to root: an alias redirects root's mail.
        if (user->uid == 0 || user->uid < order.minimum_uid) return {};
        auto became = as_user::become(as_user::identity_of(*user));
        if (became) became = common::no_new_privileges();
        if (!became) return {0, Status::unreadable, "", "", became.error().what};
        owner = user->uid;
        home = user->home;
    }
    if (home == "/") home.clear(); // not a user's home
    if (!order.path.empty())
        return order.path.starts_with('/') ? read(order.path, owner)
                                           : refused(order.path, "does not begin with a slash");
    for (const auto& place : candidate_paths(order.forward, order.user, home, order.extension))
        if (auto said = read(place, owner); said.status != Status::none) return said;
    return {};
}

} // namespace user_file

int read_file_as_user() {
    auto control = as_user::set_up_process(0);
    if (!control) return 1;
    as_user::MessageSocket<user_file::Message> line(std::move(*control));
    const auto heard = line.receive(60'000);
    const auto* order = heard ? std::get_if<user_file::ReadRequest>(&*heard) : nullptr;
    return order && line.send(user_file::answer(*order), -1) ? 0 : 1;
}

} // namespace local
