// What a file of a user's says about where their mail goes, read by a process that runs as that user and trusted only
// if no other user can have written it. Blocks. Knows files; neither their syntax nor its callers.
#pragma once
#include "daemons/common/proto/user_files.h"
#include "daemons/local/as_user/as_user.h"
#include "daemons/local/mailbox/mailbox.h"
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace local {

namespace user_file {

struct ReadRequest {                  // daemon → process
    std::string user;                 // user to look up and become, if `change` is set
    std::string path, extension;      // as in proto::user_files::Read
    std::vector<std::string> forward; // local.forward
    std::string home;                 // single-user mode: of the user; "" for any other user
    std::uint32_t minimum_uid = 1;
    bool change = true;
    static void fields(auto& m, auto& f) {
        f("user", m.user);
        f("path", m.path);
        f("extension", m.extension);
        f("forward", m.forward);
        f("home", m.home);
        f("minimum_uid", m.minimum_uid);
        f("change", m.change);
    }
};
using Message = std::variant<ReadRequest, proto::user_files::Answer>;

// The paths to try, in order. Those with {extension} are left out if the address has none that can be part of a
// file's name; those with {home} if there is no home.
std::vector<std::string> candidate_paths(const std::vector<std::string>& forward, std::string_view user,
                                         std::string_view home, std::string_view extension);

// It must be a plain file (no link) of `owner` or root that no other user may write. The answer's number is 0.
proto::user_files::Answer read(const std::string& path, std::uint32_t owner);

// Does one of the user's own files name this command ("|command") or file, directly or through a file that it
// includes? Called in a process that runs as the user. The error says which file cannot be read now.
struct TargetReference {
    std::string target;
    std::string extension;            // of the address; "" none
    std::vector<std::string> forward; // local.forward
    static void fields(auto& m, auto& f) {
        f("target", m.target);
        f("extension", m.extension);
        f("forward", m.forward);
    }
};
std::expected<bool, std::string> are_referenced(const TargetReference& names, std::string_view user,
                                                std::string_view home, std::uint32_t uid);
// A verdict unless they are; none where `names.target` is "".
std::optional<Verdict> reject_unless_referenced(const TargetReference& names, const as_user::UserIdentity& person);
// The verdict on mail for a target that nothing trusted by this system names.
Verdict not_referenced(std::string_view target, std::string_view user);

// The whole request, in a process that may still become the user.
proto::user_files::Answer answer(const ReadRequest& order);

} // namespace user_file

// The main function of such a process, with the socket as descriptor 0; its exit status.
int read_file_as_user();

} // namespace local
