// Any two texts as main.cf and master.cf (split_path by a line "---") are either a Postfix configuration that is
// carried over, or refused with a file and a reason; what comes out is text for a terminal and TOML, whatever
// it says, and every setting has its verdict.
#include "daemons/import-postfix/conversion/conversion.h"
#include "libsmtp/text/utf8.h"
#include <cstdlib>
#include <toml++/toml.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace postrider;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto cut = text.find("\n---\n");
    const std::string main(text.substr(0, cut)), master(cut == text.npos ? "" : text.substr(cut + 5));
    HostEnvironment environment;
    environment.directory = "/pf", environment.hostname = "host.example";
    environment.read = [&](const std::string& path) -> std::expected<std::string, std::string> {
        if (path == "/pf/main.cf") return main;
        if (path == "/pf/master.cf") return master;
        if (path.starts_with("/t")) return main; // a table, of whatever is there
        return std::unexpected(std::string("No such file or directory"));
    };
    environment.exists = [](const std::string& path) { return path.starts_with("/pf/") || path.starts_with("/t"); };
    environment.user_name = [](std::uint32_t) { return std::string("vmail"); };
    environment.is_user = [](const std::string& name) { return name == "vmail"; };
    auto read = import_postfix(environment);
    if (!read) {
        if (read.error().file.empty() || read.error().message.empty()) std::abort();
        return 0;
    }
    const auto out = read->text();
    for (const unsigned char c : out)
        if ((c < 0x20 && c != '\n') || c == 0x7f) std::abort();
    if (!smtp::is_utf8_text(out)) std::abort();
    const auto lines = toml::parse(out); // ends the program with the place where it is none
    if (read->count(SettingResult::Kind::converted) + read->count(SettingResult::Kind::with_remark) +
            read->count(SettingResult::Kind::unsupported) !=
        read->results.size())
        std::abort();
    return 0;
}
