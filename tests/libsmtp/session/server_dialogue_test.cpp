// Runs tests/dialogues/server_*.smtp: conversations a postmaster can read.
//
//   C: text       the client sends the line and CRLF; lines up to the next S:, T: or X: are sent at once
//   c: text       the same without CRLF; \r \n \0 \\ and \xHH stand for bytes
//   C*n: text     n times
//   S: text       the server says exactly this line
//   S*n: text     n times
//   S~ text       the server says a line that begins so
//   T: seconds    time passes
//   X: cause      the session is over: quit, timed_out, too_many_errors, not_smtp, too_early, turned_away
//   set key n     message_size, recipients, line, soft_errors, hard_errors; tls 1: offered, 2: required;
//                 proxy 1: the client may XCLIENT and XFORWARD
//                 chunking, smtputf8, requiretls, etrn 1: offered; vrfy 0: not offered; auth 1: offered, 2:
//                 under TLS only
//   # …           a remark
// Every file is run with each group sent whole, in sevens and byte by byte, unless it says "whole only".
#include "tests/libsmtp/session/server_peer.h"
#include "tests/libsmtp/text/pieces.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace smtp;
using namespace smtp::testing;

namespace {

std::string unescape(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            out += text[i];
            continue;
        }
        switch (text[++i]) {
        case 'r': out += '\r'; break;
        case 'n': out += '\n'; break;
        case '0': out += '\0'; break;
        case 'x':
            out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
            i += 2;
            break;
        default: out += text[i];
        }
    }
    return out;
}

struct Step {
    int line;
    std::string kind, text; // kind: "C", "c", "S", "S~", "T", "X", "set"
    int times = 1;
};

struct Dialogue {
    std::vector<Step> steps;
    bool whole_only = false;
};

Dialogue read(const std::filesystem::path& file) {
    Dialogue out;
    std::ifstream in(file);
    int number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        if (line == "# whole only") out.whole_only = true;
        if (line.empty() || line.starts_with('#')) continue;
        if (line.starts_with("S~ "))
            out.steps.push_back({number, "S~", line.substr(3)});
        else if (line.starts_with("set "))
            out.steps.push_back({number, "set", line.substr(4)});
        else {
            const auto colon = line.find(':');
            REQUIRE_MESSAGE(colon != line.npos, file.string() << ":" << number);
            Step step{number, line.substr(0, 1), line.substr(std::min(colon + 2, line.size()))};
            if (line[1] == '*') step.times = std::stoi(line.substr(2));
            out.steps.push_back(step);
        }
    }
    return out;
}

struct Setting {
    ServerSettings server;
    ServerRights proxy;
};

void apply(Setting& setting, const std::string& text) {
    auto& settings = setting.server;
    std::istringstream in(text);
    std::string key;
    std::uint32_t n = 0;
    in >> key >> n;
    if (key == "message_size")
        settings.message_size = n, settings.capabilities.size = n;
    else if (key == "recipients")
        settings.recipients = n;
    else if (key == "line")
        settings.line = n;
    else if (key == "soft_errors")
        settings.soft_errors = n;
    else if (key == "hard_errors")
        settings.hard_errors = n;
    else if (key == "tls") {
        settings.capabilities.starttls = true;
        settings.tls = n == 2 ? ServerSettings::Tls::required : ServerSettings::Tls::optional;
    } else if (key == "proxy") {
        setting.proxy = {.xclient = true, .xforward = true};
    } else if (key == "chunking") {
        settings.capabilities.chunking = true;
    } else if (key == "smtputf8") {
        settings.capabilities.smtputf8 = true;
    } else if (key == "etrn") {
        settings.capabilities.etrn = true;
    } else if (key == "vrfy") {
        settings.capabilities.vrfy = n != 0;
    } else if (key == "requiretls") {
        settings.tls_capabilities.require_tls = true;
    } else if (key == "auth") { // 1: also in plain text, 2: only under TLS
        settings.capabilities.auth = n == 1 ? "PLAIN LOGIN" : "";
        settings.tls_capabilities.auth = "PLAIN LOGIN";
    } else
        FAIL("unknown setting " << key);
}

class Run {
public:
    Run(const Dialogue& dialogue, std::size_t length) : length_(length) {
        Setting setting{test_settings(), {}};
        for (auto& step : dialogue.steps)
            if (step.kind == "set") apply(setting, step.text);
        settings_ = setting.server;
        const auto under_tls = settings_.tls_capabilities;
        settings_.tls_capabilities = settings_.capabilities;
        settings_.tls_capabilities.auth = under_tls.auth;
        settings_.tls_capabilities.require_tls = under_tls.require_tls;
        settings_.tls_capabilities.starttls = false;
        ServerPeer peer(settings_);
        peer.session.grant(setting.proxy);
        for (auto& step : dialogue.steps) take(peer, step);
        flush(peer);
        CHECK_MESSAGE(peer.sent.empty(), "left over: " << peer.sent);
    }

private:
    void flush(ServerPeer& peer) {
        for (auto piece : pieces::of(group_, length_)) peer.feed(piece);
        group_.clear();
    }
    void expect(ServerPeer& peer, const Step& step) {
        const auto end = peer.sent.find("\r\n");
        const auto said = peer.sent.substr(0, end);
        INFO("line " << step.line);
        if (step.kind == "S~")
            CHECK(said.substr(0, step.text.size()) == step.text);
        else
            CHECK(said == step.text);
        peer.sent.erase(0, end == peer.sent.npos ? end : end + 2);
    }
    void take(ServerPeer& peer, const Step& step) {
        static constexpr std::string_view causes[] = {"quit",     "lost",      "timed_out",   "too_many_errors",
                                                      "not_smtp", "too_early", "turned_away", "shut_down"};
        if (step.kind == "set") return;
        if (step.kind == "C" || step.kind == "c") {
            for (int i = 0; i < step.times; ++i) group_ += step.kind == "C" ? step.text + "\r\n" : unescape(step.text);
            return;
        }
        flush(peer);
        if (step.kind == "T")
            peer.advance(std::chrono::seconds(std::stoi(step.text)));
        else if (step.kind == "X") {
            CHECK(peer.session.closed());
            CHECK(causes[static_cast<std::size_t>(peer.cause)] == step.text);
        } else
            for (int i = 0; i < step.times; ++i) expect(peer, step);
    }

    ServerSettings settings_;
    std::size_t length_;
    std::string group_;
};

} // namespace

TEST_CASE("dialogues") {
    int files = 0;
    for (auto& entry : std::filesystem::directory_iterator(DIALOGUES)) {
        const auto name = entry.path().filename().string();
        if (!name.starts_with("server_") || entry.path().extension() != ".smtp") continue;
        ++files;
        INFO(name);
        const auto dialogue = read(entry.path());
        for (std::size_t length : {std::size_t{1} << 30, std::size_t{7}, std::size_t{1}}) {
            if (dialogue.whole_only && length < 100) continue;
            INFO("pieces of " << length);
            Run(dialogue, length);
        }
    }
    CHECK(files >= 10);
}
