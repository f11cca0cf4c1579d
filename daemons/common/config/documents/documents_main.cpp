// config-documents sample|manual: writes conf/postrider.toml or man/postrider.toml.5
// from the table of keys. For developers who change a key; not installed.
#include "daemons/common/config/documents/documents.h"
#include <cstdio>
#include <string_view>

int main(int argc, char** argv) {
    const std::string_view what = argc == 2 ? argv[1] : "";
    if (what != "sample" && what != "manual") {
        std::fputs("usage: config-documents sample|manual\n", stderr);
        return 64;
    }
    const auto text = what == "sample" ? config::sample() : config::manual();
    return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : 74;
}
