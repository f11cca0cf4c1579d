// passwd: writes the file of users who may authenticate. Other lines of it stay as they are.
#include "daemons/postrider/configuration/passwd.h"
#include "daemons/common/config/config.h"
#include "daemons/common/crypto/auth/password_file.h"
#include "daemons/common/crypto/auth/saslprep.h"
#include "daemons/common/runtime/random.h"
#include "daemons/postrider/command/command.h"
#include "libsmtp/auth/secret.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

namespace postrider {

namespace {

// A line from standard input; on a terminal with a prompt and without echo.
std::optional<smtp::Secret> read_line(const char* prompt) {
    termios shown{};
    const bool terminal = ::tcgetattr(0, &shown) == 0;
    if (terminal) {
        auto hidden = shown;
        hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
        ::tcsetattr(0, TCSAFLUSH, &hidden);
        fmt::print(stderr, "{}: ", prompt);
    }
    char line[1024] = "";
    const bool read = std::fgets(line, sizeof line, stdin) != nullptr;
    if (terminal) {
        ::tcsetattr(0, TCSAFLUSH, &shown);
        fmt::print(stderr, "\n");
    }
    const auto length = std::strcspn(line, "\r\n");
    const bool whole = length + 1 < sizeof line;
    std::optional<smtp::Secret> out;
    if (read && whole && length > 0) out.emplace(std::string(line, length));
    explicit_bzero(line, sizeof line);
    return out;
}

std::optional<smtp::Secret> new_password() {
    auto first = read_line("New password");
    if (!first) {
        print_error("no password given; nothing was changed");
        return std::nullopt;
    }
    if (::isatty(0) == 0) return first;
    const auto again = read_line("Repeat password");
    if (again && again->reveal() == first->reveal()) return first;
    print_error("the passwords differ; nothing was changed");
    return std::nullopt;
}

std::string read_text(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

// The text with `line` in place of the user's; an empty one removes it. False: there was none.
bool replace_line(std::string& text, std::string_view user, const std::string& line) {
    std::string out;
    bool found = false;
    for (std::string_view rest = text; !rest.empty();) {
        const auto end = std::min(rest.find('\n'), rest.size() - 1) + 1;
        const auto each = rest.substr(0, end);
        rest.remove_prefix(end);
        if (auth::saslprep(each.substr(0, each.find(':'))) == user) {
            if (!found) out += line;
            found = true;
            continue;
        }
        out += each;
        if (!each.ends_with('\n')) out += '\n';
    }
    if (!found) out += line;
    text = std::move(out);
    return found;
}

int report_failure(const std::string& path) {
    print_error(fmt::format("{}: {}; nothing is changed", path, std::strerror(errno)));
    return errno == EACCES || errno == EPERM ? no_permission : system_error;
}

// Atomically: a reader sees the old file or the new one.
int replace_password_file(const std::string& path, const std::string& text) {
    const auto fresh = path + ".new";
    ::unlink(fresh.c_str());
    const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return report_failure(fresh);
    const bool good = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
    ::close(fd);
    if (!good || ::rename(fresh.c_str(), path.c_str()) != 0) {
        const int status = report_failure(fresh);
        ::unlink(fresh.c_str());
        return status;
    }
    return ok;
}

} // namespace

int passwd(const Arguments& arguments) {
    const auto config = parse_config(arguments); // before the first user the password file need not exist
    if (!config) return bad_config;
    const auto& path = config->auth.passwords;
    if (path.empty()) return fail(bad_config, "no password file is configured: name one in auth.passwords");
    const auto user = auth::saslprep(arguments.words.front());
    if (!auth::is_user_name(user)) return fail(usage, fmt::format("\"{}\" is not a valid user name", user));
    auto text = read_text(path);
    const auto file = auth::PasswordFile::parse(text);
    if (!file) return fail(data_error, fmt::format("{}: {}; nothing is changed", path, file.error().why));
    if (arguments.has("--remove")) {
        if (!file->find(user)) return fail(not_found, fmt::format("{} has no user {}", path, user));
        replace_line(text, user, "");
        const int status = replace_password_file(path, text);
        if (status == ok) fmt::print("{}: {} is removed\n", path, user);
        return status;
    }
    auto entry = file->find(user) ? *file->find(user) : auth::Entry{};
    if (const auto list = arguments.option("--addresses")) {
        const auto read = auth::PasswordFile::parse("x:::" + *list);
        if (!read) return fail(usage, fmt::format("--addresses: {}", read.error().why));
        entry.addresses = read->find("x")->addresses;
    }
    if (!arguments.has("--addresses") || !file->find(user)) {
        const auto password = new_password();
        if (!password) return data_error;
        entry.hash = auth::make_hash(password->reveal());
        entry.scram = auth::make_scram_keys(password->reveal(), common::random_bytes(auth::default_salt_size),
                                            auth::default_iterations);
    }
    const bool known = replace_line(text, user, fmt::format("{}:{}\n", user, entry.text()));
    const int status = replace_password_file(path, text);
    if (status == ok) fmt::print("{}: {} is {}\n", path, user, known ? "changed" : "added");
    return status;
}

} // namespace postrider
