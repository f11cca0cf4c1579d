// The names by which programs find "the" mail system, such as /usr/sbin/sendmail, and the files that
// are there now. `postrider activate` records its links in a file, so that a replacement or removal
// by another package can be reported. Changes nothing but that file; knows nothing of packages.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace common {

struct StandardName {
    std::string_view path, program;
};
inline constexpr std::array standard_names = {
    StandardName{"/usr/sbin/sendmail", "sendmail"},   StandardName{"/usr/lib/sendmail", "sendmail"},
    StandardName{"/usr/bin/mailq", "mailq"},          StandardName{"/usr/bin/newaliases", "newaliases"},
    StandardName{"/usr/sbin/postqueue", "postqueue"}, StandardName{"/usr/sbin/postsuper", "postsuper"},
    StandardName{"/usr/sbin/postcat", "postcat"},     StandardName{"/usr/sbin/postconf", "postconf"},
    StandardName{"/usr/sbin/postmap", "postmap"},     StandardName{"/usr/sbin/postalias", "postalias"},
};

// `root`: below which all this is looked for; "" is the system itself.
enum class NameState { free, ours, foreign, unclear };
struct NameStatus {
    NameState state = NameState::free;
    std::string what; // unclear: why
};
NameStatus check_name(const std::string& root, const StandardName& name);

// Where it is noted that the names were made ours.
std::string activation_record(const std::string& root);
// errno's value; 0 done.
int record_activation(const std::string& root);
int clear_activation(const std::string& root);
// "" while every name that was made ours is ours, or none ever was; else what happened to them, and what to do.
std::string lost_names_warning(const std::string& root);

} // namespace common
