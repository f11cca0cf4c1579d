// What processes that become users are there for, by the word on their command line.
#pragma once
#include <string_view>

namespace local {

// Such a process's whole life; its exit status.
int run_as_user(std::string_view work);

} // namespace local
