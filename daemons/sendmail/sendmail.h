// sendmail(1), mailq(1) and newaliases(1) as one program: reads a message, submits it, and returns an
// exit status of sysexits.h.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sendmail {

int run(std::string_view name, const std::vector<std::string>& words);

} // namespace sendmail
