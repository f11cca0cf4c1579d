// master ↔ each daemon, over the one descriptor a daemon starts with (3, a SOCK_SEQPACKET pair: a packet is
// a message). Descriptors are passed with Configure, in the order its lists name them, and with AccessToken.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace proto::supervision {

struct Listener {
    std::string name;    // [listen.<name>], or "submit", "queue-manager", "control" … for local sockets
    std::string address; // "127.0.0.1:2525", for logs
    static void fields(auto& m, auto& f) {
        f("name", m.name);
        f("address", m.address);
    }
};

struct Token {          // what a process shows a server
    std::string server; // the last part of its socket's path
    std::string token;
    static void fields(auto& m, auto& f) {
        f("server", m.server);
        f("token", m.token);
    }
};

// A daemon's whole configuration; sent at its start, at reload and when logs are re-opened.
// Descriptors: [0] the configuration's text (read-only), [1] the log file (only if has_log_file), [2] the secrets
// (only if has_secrets; proto/secrets.h), then one listening socket per listener.
struct Configure { // master → daemon
    std::uint64_t generation = 0;
    std::string file;           // the configuration's name, for messages
    std::uint32_t instance = 0; // worker number; a writer's slot
    bool has_log_file = false;
    bool has_secrets = false;
    std::vector<Listener> listeners;
    std::vector<Token> tokens;         // its own, one for each server it may connect to
    std::string key;                   // from which the tokens of its clients are made; "": it is no server
    std::vector<std::string> expected; // the roles of these clients
    bool single_user = true;           // all processes run as one user, the operator
    bool has_operators = false;        // there is a group of operators,
    std::uint32_t operators = 0;       // this one
    static void fields(auto& m, auto& f) {
        f("generation", m.generation);
        f("file", m.file);
        f("instance", m.instance);
        f("has_log_file", m.has_log_file);
        f("has_secrets", m.has_secrets);
        f("listeners", m.listeners);
        f("tokens", m.tokens);
        f("key", m.key);
        f("expected", m.expected);
        f("single_user", m.single_user);
        f("has_operators", m.has_operators);
        f("operators", m.operators);
    }
};

struct Ping { // master → daemon; silence for too long is answered with SIGKILL
    std::uint64_t number = 0;
    static void fields(auto& m, auto& f) { f("number", m.number); }
};

struct Stop {                 // master → daemon: take nothing new, finish what is in flight within the bound, exit
    std::uint64_t within = 0; // µs
    static void fields(auto& m, auto& f) { f("within", m.within); }
};

// master → queue-manager: an agent's process has ended, and whether by its own fault; master → metrics: any process
// that is started again
struct ProcessEnded {
    std::string role;
    std::uint32_t instance = 0;
    // By a signal that no process sent, a failed assertion, lack of memory, or killed by master because it hung; not:
    // stopped, killed from outside, or slow with the whole machine.
    bool crashed = false;
    static void fields(auto& m, auto& f) {
        f("role", m.role);
        f("instance", m.instance);
        f("crashed", m.crashed);
    }
};

struct Ready { // daemon → master: configured (generation) and serving
    std::uint64_t generation = 0;
    std::string confinement; // what of it the kernel enforces
    static void fields(auto& m, auto& f) {
        f("generation", m.generation);
        f("confinement", m.confinement);
    }
};

struct Pong { // daemon → master
    std::uint64_t number = 0;
    std::string status; // how its work stands, in a few words for an administrator; "": nothing worth saying
    static void fields(auto& m, auto& f) {
        f("number", m.number);
        f("word", m.status);
    }
};

struct AccessTokenWanted { // smtp-client → master: what the command of that account prints
    std::uint64_t request = 0;
    std::string account;       // auth::Account::name()
    std::uint64_t refused = 0; // the number of one that a server did not take; 0: none
    static void fields(auto& m, auto& f) {
        f("request", m.request);
        f("account", m.account);
        f("refused", m.refused);
    }
};

struct AccessToken { // master → smtp-client; the token itself is in a sealed file that rides along, unless there is a
                     // problem
    std::uint64_t request = 0;
    std::uint64_t number = 0; // another for every token
    bool fresh = false;       // made for this request
    std::string problem;      // "": there is none
    static void fields(auto& m, auto& f) {
        f("request", m.request);
        f("number", m.number);
        f("fresh", m.fresh);
        f("problem", m.problem);
    }
};

struct SinkWanted { // events → master: the command of that hook, started again
    std::uint64_t request = 0;
    std::string hook;
    static void fields(auto& m, auto& f) {
        f("request", m.request);
        f("hook", m.hook);
    }
};

struct Sink { // master → events. Descriptors, unless there is a problem: [0] to write its input, [1] to read its output
    std::uint64_t request = 0;
    std::string problem; // "": there is none
    static void fields(auto& m, auto& f) {
        f("request", m.request);
        f("problem", m.problem);
    }
};

struct Problem { // daemon → master: for `postrider status`; "" clears it
    std::string text;
    static void fields(auto& m, auto& f) { f("text", m.text); }
};

using Message = std::variant<Configure, Ping, Stop, ProcessEnded, Ready, Pong, Problem, AccessTokenWanted, AccessToken,
                             SinkWanted, Sink>;

} // namespace proto::supervision
