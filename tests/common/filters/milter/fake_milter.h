// A milter that a test plays: says to each command what its script has, and remembers what it was told.
#pragma once
#include "daemons/common/filters/milter/packet.h"
#include "tests/common/net/fake_service.h"
#include <map>

namespace milter::testing {

inline std::string packet(char command, std::string_view data = {}) {
    std::string out;
    append_packet(out, command, data);
    return out;
}
inline std::string numbers(std::initializer_list<std::uint32_t> all) {
    std::string out;
    for (const auto n : all) append_number(out, n);
    return out;
}
inline std::string text(std::string_view one) { return std::string(one) + '\0'; }

struct FakeMilter {
    FakeMilter(common::Loop& loop, const std::string& path) : service(loop, path) {
        service.heard = [this](std::size_t connection, std::string_view bytes) {
            auto& reader = readers[connection];
            reader.feed(bytes);
            for (auto next = reader.next(); next && *next; next = reader.next()) told_of(connection, **next);
        };
    }
    void told_of(std::size_t connection, const Packet& one) {
        if (one.command == 'D') return void(macros[one.data.at(0)] = one.data.substr(1));
        told.push_back(one);
        if (one.command == 'O' && !replies.contains('O'))
            return service.say(connection, packet('O', numbers({6, actions, steps})));
        if (std::string_view("AQ").find(one.command) != std::string_view::npos) {
            if (one.command == 'Q') on_quit();
            return;
        }
        const auto reply = replies.find(one.command);
        if (reply == replies.end())
            service.say(connection, packet('c'));
        else if (reply->second == dies)
            service.hang_up(connection);
        else
            service.say(connection, reply->second);
    }
    std::string commands() const {
        std::string out;
        for (const auto& one : told) out += one.command;
        return out;
    }
    std::string body() const {
        std::string out;
        for (const auto& one : told)
            if (one.command == 'B') out += one.data;
        return out;
    }

    static constexpr std::string_view dies = "dies";
    FakeService service;
    std::uint32_t actions = 0x1ff, steps = 0;
    std::map<char, std::string> replies; // as on the wire; "" nothing at all
    std::vector<Packet> told;
    std::map<char, std::string> macros;
    std::function<void()> on_quit = [] {};
    std::map<std::size_t, PacketReader> readers;
};

} // namespace milter::testing
