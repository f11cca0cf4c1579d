#include "daemons/local/command/exit_status.h"
#include "libsmtp/text/text.h"
#include "libsmtp/text/trim.h"
#include <algorithm>
#include <fmt/format.h>
#include <sys/wait.h>
#include <sysexits.h>

namespace local {
namespace {

struct Meaning {
    int exit;
    const char* status;
    const char* text;
};
// As in sendmail and Postfix; but an I/O error may pass (sendmail: temporary).
constexpr Meaning meanings[] = {
    {EX_USAGE, "5.3.0", "command line usage error"},    {EX_DATAERR, "5.6.0", "data format error"},
    {EX_NOINPUT, "5.3.0", "cannot open input"},         {EX_NOUSER, "5.1.1", "user unknown"},
    {EX_NOHOST, "5.1.2", "host name unknown"},          {EX_UNAVAILABLE, "5.3.0", "service unavailable"},
    {EX_SOFTWARE, "5.3.0", "internal software error"},  {EX_OSERR, "4.3.0", "system resource problem"},
    {EX_OSFILE, "5.3.0", "critical OS file missing"},   {EX_CANTCREAT, "5.2.0", "can't create user output file"},
    {EX_IOERR, "4.3.0", "input/output error"},          {EX_TEMPFAIL, "4.3.0", "temporary failure"},
    {EX_PROTOCOL, "5.5.0", "remote error in protocol"}, {EX_NOPERM, "5.7.0", "permission denied"},
    {EX_CONFIG, "5.3.5", "local configuration error"},
};
// Of a shell: the program does not exist, or cannot be run. An administrator has to fix that; the mail waits.
constexpr int cannot_be_run = 126, not_found = 127;

std::string with_output(std::string text, std::string_view output) {
    return output.empty() ? text : fmt::format("{}. Command output: {}", text, output);
}

std::string shown(std::string_view command) { return smtp::printable(command, 128); }

bool is_number(std::string_view text) {
    return !text.empty() && text.size() <= 3 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// "4.2.2" of "4.2.2 mailbox full"; "" if it does not begin with a status.
std::string_view own_status(std::string_view output) {
    const auto word = output.substr(0, output.find(' '));
    const auto first = word.find('.'), second = first == word.npos ? word.npos : word.find('.', first + 1);
    if (second == word.npos || (word.substr(0, first) != "4" && word.substr(0, first) != "5")) return "";
    const bool good = is_number(word.substr(first + 1, second - first - 1)) && is_number(word.substr(second + 1));
    return good ? word : "";
}

} // namespace

std::string on_one_line(std::string_view output) {
    std::string out;
    for (const char c : output) {
        if (c == '\n' || c == '\t' || c == '\r')
            out.push_back(' ');
        else
            out.push_back(smtp::is_printable(c) ? c : '_');
    }
    return std::string(smtp::trimmed(out));
}

Verdict verdict_of_exit(int status, std::string_view command, std::string_view output) {
    if (WIFSIGNALED(status))
        return deferred(
            "4.3.0",
            with_output(fmt::format("Command died with signal {}: \"{}\"", WTERMSIG(status), shown(command)), output));
    const int exit = WEXITSTATUS(status);
    if (exit == EX_OK) {
        const auto text = "delivered to command: " + smtp::printable(command, 200);
        return delivered(output.empty() ? text : fmt::format("{} ({})", text, output));
    }
    const auto verdict = [](std::string_view enhanced, std::string text) {
        return enhanced.starts_with('4') ? deferred(std::string(enhanced), std::move(text))
                                         : failed(std::string(enhanced), std::move(text));
    };
    if (const auto own = own_status(output); !own.empty()) {
        const auto said = smtp::trimmed(output.substr(own.size()));
        return verdict(own, said.empty() ? fmt::format("\"{}\" says so", shown(command)) : std::string(said));
    }
    for (const auto& meaning : meanings)
        if (meaning.exit == exit) return verdict(meaning.status, with_output(meaning.text, output));
    const auto text = with_output(fmt::format("Command died with status {}: \"{}\"", exit, shown(command)), output);
    if (exit == cannot_be_run || exit == not_found) return deferred("4.3.5", text);
    return failed("5.3.0", text);
}

Verdict verdict_of_timeout(std::string_view command, std::string_view output) {
    return deferred("4.3.0", with_output(fmt::format("Command time limit exceeded: \"{}\"", shown(command)), output));
}

} // namespace local
