// sendmail(1), mailq(1) and newaliases(1) as one program: reads what there is to read, hands it over, says in
// an exit status of sysexits.h what became of it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sendmail {

int run(std::string_view name, const std::vector<std::string>& words);

} // namespace sendmail
