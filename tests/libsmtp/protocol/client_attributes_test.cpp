#include "libsmtp/protocol/client_attributes.h"
#include <doctest/doctest.h>

using namespace smtp;

namespace {

ClientAttributes of(ClientCommand command, std::string_view text) {
    const auto parsed = parse_client_attributes(command, text);
    REQUIRE_MESSAGE(parsed, text);
    return *parsed;
}
std::string why_not(ClientCommand command, std::string_view text) {
    const auto parsed = parse_client_attributes(command, text);
    REQUIRE_MESSAGE(!parsed, text);
    CHECK(parsed.error().code == 501);
    return parsed.error().text;
}
constexpr auto xclient = ClientCommand::xclient, xforward = ClientCommand::xforward;

} // namespace

TEST_CASE("XCLIENT says who the client is") {
    const auto said =
        of(xclient, "NAME=spike.example ADDR=192.0.2.1 PORT=4711 PROTO=ESMTP helo=sp+2Bike LOGIN=ann+40example.com "
                    "DESTADDR=IPv6:2001:db8::25 DESTPORT=25 REVERSE_NAME=[UNAVAILABLE]");
    CHECK(said.name->value == "spike.example");
    CHECK(said.address->value == "192.0.2.1");
    CHECK(said.port->value == "4711");
    CHECK(said.protocol->value == "ESMTP");
    CHECK(said.helo->value == "sp+ike");
    CHECK(said.login->value == "ann@example.com");
    CHECK(said.dest_address->value == "2001:db8::25");
    CHECK(said.dest_port->value == "25");
    CHECK(said.reverse_name->kind == ClientAttribute::Kind::unavailable);
    CHECK(of(xclient, "NAME=[tempunavail]").name->kind == ClientAttribute::Kind::unknown);
    CHECK(of(xclient, "ADDR=IPV6:2001:db8::1  PORT=25") == of(xclient, "PORT=25 ADDR=IPV6:2001:db8::1"));
    CHECK_FALSE(of(xclient, "PORT=25").address);
}

TEST_CASE("XFORWARD says where mail came from") {
    const auto said = of(xforward, "NAME=spike.example ADDR=192.0.2.1 PORT=4711 PROTO=ESMTP HELO=spike "
                                   "IDENT=3F4A5B SOURCE=REMOTE");
    CHECK(said.ident->value == "3F4A5B");
    CHECK(said.source->value == "REMOTE");
    CHECK(of(xforward, "PROTO=LMTP").protocol->value == "LMTP");
}

TEST_CASE("attributes that are none") {
    CHECK(why_not(xclient, "") == "Syntax: XCLIENT attribute=value...");
    CHECK(why_not(xforward, "") == "Syntax: XFORWARD attribute=value...");
    CHECK(why_not(xclient, "COLOUR=red") == "Error: \"COLOUR\" is not a valid attribute=value of this command");
    CHECK(why_not(xclient, "NAME") == "Error: \"NAME\" is not a valid attribute=value of this command");
    CHECK(why_not(xclient, "=x") == "Error: \"\" is not a valid attribute=value of this command");
    CHECK(why_not(xclient, "IDENT=x") == "Error: \"IDENT\" is not a valid attribute=value of this command");
    CHECK(why_not(xforward, "LOGIN=x") == "Error: \"LOGIN\" is not a valid attribute=value of this command");
    CHECK(why_not(xclient, "NAME=a NAME=b") == "Error: NAME is given twice");
    CHECK(why_not(xclient, "NAME=") == "Error: bad value of NAME");
    CHECK(why_not(xclient, "NAME=a=b") == "Error: bad value of NAME");
    CHECK(why_not(xclient, "NAME=a+0D+0Ab") == "Error: bad value of NAME");
    CHECK(why_not(xclient, "NAME=a+4") == "Error: bad value of NAME");
    CHECK(why_not(xclient, "NAME=" + std::string(256, 'x')) == "Error: bad value of NAME");
    CHECK(why_not(xclient, "PORT=65536") == "Error: bad value of PORT");
    CHECK(why_not(xclient, "PORT=000025") == "Error: bad value of PORT");
    CHECK(why_not(xclient, "PROTO=LMTP") == "Error: bad value of PROTO");
    CHECK(why_not(xclient, "ADDR=2001:db8::1") == "Error: bad value of ADDR");
    CHECK(why_not(xclient, "ADDR=IPV6:192.0.2.1") == "Error: bad value of ADDR");
    CHECK(why_not(xforward, "SOURCE=ELSEWHERE") == "Error: bad value of SOURCE");
}

TEST_CASE("XFORWARD to a server: what it takes, in its order, in lines that are not too long") {
    auto from =
        of(xforward,
           "NAME=spike.example ADDR=IPV6:2001:db8::1 PORT=4711 PROTO=ESMTP HELO=sp+2Bike IDENT=3F4A SOURCE=REMOTE");
    CHECK(xforward_commands(from, "ADDR SOURCE SHOE-SIZE name ADDR Name") ==
          "XFORWARD ADDR=IPV6:2001:db8::1 SOURCE=REMOTE NAME=spike.example\r\n");
    CHECK(xforward_commands(from, "HELO") == "XFORWARD HELO=sp+2Bike\r\n");
    CHECK(xforward_commands(from, "LOGIN") == "");
    CHECK(xforward_commands({}, "NAME ADDR") == "");
    from.name = ClientAttribute{ClientAttribute::Kind::unknown, ""};
    CHECK(xforward_commands(from, "NAME IDENT") == "XFORWARD NAME=[UNAVAILABLE] IDENT=3F4A\r\n");
    from.name = ClientAttribute{ClientAttribute::Kind::given, std::string(255, 'n')};
    from.helo = ClientAttribute{ClientAttribute::Kind::given, std::string(254, 'h')};
    CHECK(xforward_commands(from, "NAME HELO PORT") ==
          "XFORWARD NAME=" + std::string(255, 'n') + "\r\nXFORWARD HELO=" + std::string(254, 'h') + " PORT=4711\r\n");
    from.helo = ClientAttribute{ClientAttribute::Kind::given, std::string(200, '+')}; // three times as long encoded
    CHECK(xforward_commands(from, "HELO") == "XFORWARD HELO=[UNAVAILABLE]\r\n");
}
