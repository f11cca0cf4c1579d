// Prints the list of postrider-from-postfix(7), to be pasted there when the table changes. With --look: reads names
// of settings, one a line, and prints what the tables contain about each: "name = default" and, after a tab, the row
// it falls under.
#include "daemons/import-postfix/postfix/defaults.h"
#include "daemons/import-postfix/setting_map/setting_map.h"
#include <fmt/format.h>
#include <iostream>

int main(int argc, char** argv) {
    if (argc < 2 || std::string_view(argv[1]) != "--look") {
        fmt::print("{}", postrider::setting_map_manual());
        return 0;
    }
    for (std::string name; std::getline(std::cin, name);) {
        const auto* row = postrider::mapping_of(name);
        fmt::print("{} = {}\t{}\n", name, postrider::postfix::default_of(name).value_or("?"), row ? row->name : "?");
    }
}
