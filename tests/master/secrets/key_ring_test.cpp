// What each role is handed: its own secrets and nothing else, anew when its files have changed.
#include "daemons/common/config/config.h"
#include "daemons/common/crypto/dkim/signing_key.h"
#include "daemons/common/ipc/message.h"
#include "daemons/master/secrets/key_ring.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace std::chrono_literals;
using proto::Role;

namespace {

std::string text_of(int fd) {
    std::string text(100'000, '\0');
    const auto n = ::pread(fd, text.data(), text.size(), 0);
    text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
    return text;
}

void write(const std::string& path, std::string_view text, mode_t mode = 0600) {
    std::ofstream(path) << text;
    REQUIRE(::chmod(path.c_str(), mode) == 0);
}

struct Rig {
    TemporaryDirectory folder;
    config::Config config;
    master::KeyRing ring{::geteuid()};
    smtp::Monotonic now{1h};

    Rig() {
        config.smtp_client.credentials = folder.path().string() + "/credentials";
        config.auth.passwords = folder.path().string() + "/passwords";
        write(config.smtp_client.credentials, "relay.example.net alice:pencil\n");
        write(config.auth.passwords, "bob:$6$hash::\n");
    }
};

} // namespace

TEST_CASE_FIXTURE(Rig, "each role is handed its own") {
    REQUIRE(ring.load(config, now));
    const auto smtpd = text_of(ring.file_for(Role::smtpd)), client = text_of(ring.file_for(Role::smtp_client));
    const auto server_side = ipc::decode<proto::secrets::Message>(smtpd);
    const auto client_side = ipc::decode<proto::secrets::Message>(client);
    REQUIRE(server_side);
    REQUIRE(client_side);
    CHECK(std::get<proto::secrets::Server>(*server_side).passwords == "bob:$6$hash::\n");
    CHECK(std::get<proto::secrets::Client>(*client_side).credentials == "relay.example.net alice:pencil\n");
    CHECK(smtpd.find("pencil") == std::string::npos);
    CHECK(client.find("hash") == std::string::npos);
    const auto shown = text_of(ring.file_for(Role::http)); // certificates, and of them only what anybody may see
    const auto of_http = ipc::decode<proto::secrets::Message>(shown);
    REQUIRE(of_http);
    CHECK(std::get<proto::secrets::Api>(*of_http).shown.empty());
    CHECK(shown.find("pencil") == std::string::npos);
    CHECK(shown.find("hash") == std::string::npos);
    for (const auto role :
         {Role::router, Role::queue_manager, Role::categorizer, Role::pickup, Role::bounce, Role::local})
        CHECK(ring.file_for(role) == -1);
}

TEST_CASE_FIXTURE(Rig, "a changed file is new for its role alone; a bad one changes nothing") {
    REQUIRE(ring.load(config, now));
    CHECK(ring.refresh(config, now)->empty());
    write(config.smtp_client.credentials, "relay.example.net alice:crayon, longer\n");
    CHECK(*ring.refresh(config, now) == std::vector{Role::smtp_client});
    CHECK(ring.renewed() == std::vector{config.smtp_client.credentials});
    CHECK(text_of(ring.file_for(Role::smtp_client)).find("crayon") != std::string::npos);

    write(config.smtp_client.credentials, "relay.example.net\n");
    const auto odd = ring.refresh(config, now);
    REQUIRE(!odd);
    CHECK(odd.error().what == config.smtp_client.credentials + ": line 1: no user");
    CHECK(text_of(ring.file_for(Role::smtp_client)).find("crayon") != std::string::npos);
    CHECK(ring.refresh(config, now)->empty()); // said once
    CHECK(ring.renewed().empty());
    CHECK(
        ring.problem().starts_with(odd.error().what + ": the previous certificates")); // and shown as long as it lasts
    write(config.smtp_client.credentials, "relay.example.net alice:crayon, longer\n");
    CHECK(ring.refresh(config, now)->empty()); // back to what it was
    CHECK(ring.problem().empty());

    write(config.smtp_client.credentials, "relay.example.net alice:chalk\n", 0644);
    const auto open = ring.refresh(config, now);
    REQUIRE(!open);
    CHECK(open.error().what.find("chmod 600") != std::string::npos);
    REQUIRE(::chmod(config.smtp_client.credentials.c_str(), 0600) == 0); // nothing but the mode: seen all the same
    CHECK(*ring.refresh(config, now) == std::vector{Role::smtp_client});

    write(config.auth.passwords, "bob:$6$other::\n");
    CHECK(*ring.refresh(config, now) == std::vector{Role::smtpd});
}

TEST_CASE_FIXTURE(Rig, "keys to sign with are smtp-client's, each file once; what is no key changes nothing") {
    const auto path = folder.path().string() + "/key.pem";
    write(path, dkim::SigningKey::make_ed25519()->pem());
    config.signing = {{.domain = "example.com", .keys = {{"one", path}, {"two", path}}}};
    REQUIRE(ring.load(config, now));
    const auto read = ipc::decode<proto::secrets::Message>(text_of(ring.file_for(Role::smtp_client)));
    REQUIRE(read);
    const auto& keys = std::get<proto::secrets::Client>(*read).signing_keys;
    REQUIRE(keys.size() == 1);
    CHECK(keys[0].file == path);
    CHECK(dkim::SigningKey::read(keys[0].key, path));
    CHECK(text_of(ring.file_for(Role::smtpd)).find("PRIVATE KEY") == std::string::npos);

    write(path, "no key\n");
    const auto odd = ring.refresh(config, now);
    REQUIRE(!odd);
    CHECK(odd.error().what.starts_with(path + ": contains no readable private key"));
    CHECK(text_of(ring.file_for(Role::smtp_client)).find("PRIVATE KEY") != std::string::npos);
    write(path, dkim::SigningKey::make_rsa(2048)->pem());
    CHECK(*ring.refresh(config, now) == std::vector{Role::smtp_client});
    REQUIRE(::chmod(path.c_str(), 0644) == 0);
    CHECK(!ring.refresh(config, now));
}
