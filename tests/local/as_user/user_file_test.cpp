#include "daemons/local/as_user/user_file.h"
#include "tests/temporary_directory.h"
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace local;
using proto::user_files::largest_file;
using proto::user_files::Status;

namespace {

struct World {
    World() {
        chmod(place.path().c_str(), 0755);
        order.user = "ann";
        order.home = place.path() / "home";
        order.forward = {"{home}/.forward+{extension}", "{home}/.forward", place.path() / "all/{user}"};
        order.change = false;
    }
    std::string file(std::string_view name, std::string_view text, mode_t mode = 0644) {
        const std::string path = place.path() / name;
        place.write(name, std::string(text));
        chmod(path.c_str(), mode);
        return path;
    }
    proto::user_files::Answer ask(std::string extension = "") {
        order.extension = std::move(extension);
        return user_file::answer(order);
    }
    TemporaryDirectory place{"home", "all"};
    user_file::ReadRequest order;
};

} // namespace

TEST_CASE("where a .forward is looked for") {
    using Paths = std::vector<std::string>;
    const Paths forward = {"{home}/.forward+{extension}", "{home}/.forward", "/etc/forward/{user}"};
    const auto candidate_paths = [&](std::string_view home, std::string_view extension) {
        return user_file::candidate_paths(forward, "ann", home, extension);
    };
    CHECK(candidate_paths("/home/ann", "") == Paths{"/home/ann/.forward", "/etc/forward/ann"});
    CHECK(candidate_paths("/home/ann", "lists") ==
          Paths{"/home/ann/.forward+lists", "/home/ann/.forward", "/etc/forward/ann"});
    CHECK(candidate_paths("", "lists") == Paths{"/etc/forward/ann"});
    CHECK(candidate_paths("{user}", "") == Paths{"/etc/forward/ann"}); // what is put in is not looked at again
    const std::string long_one(65, 'x');
    for (const std::string_view odd : {"../../etc/passwd", "a/b", ".", long_one.c_str()})
        CHECK(candidate_paths("/home/ann", odd) == Paths{"/home/ann/.forward", "/etc/forward/ann"});
    CHECK(candidate_paths("/home/ann", std::string_view("a\0b", 3)).size() == 2);
    CHECK(user_file::candidate_paths({"{user}/x", "relative"}, "ann", "/home/ann", "").empty());
}

TEST_CASE("the first file that exists speaks") {
    World w;
    CHECK(w.ask().status == Status::none);
    w.file("all/ann", "everybody");
    CHECK(w.ask().text == "everybody");
    w.file("home/.forward", "\\ann, ann@example.org\n");
    CHECK(w.ask().text == "\\ann, ann@example.org\n");
    CHECK(w.ask("lists").path == w.order.home + "/.forward");
    w.file("home/.forward+lists", "");
    const auto said = w.ask("lists");
    CHECK(said.status == Status::found);
    CHECK(said.text.empty());
    CHECK(said.path == w.order.home + "/.forward+lists");
    w.file("home/.forward", "x", 0666); // not believed; and nothing behind it, either
    CHECK(w.ask().status == Status::refused);
    w.order.home.clear();
    CHECK(w.ask().text == "everybody");
}

TEST_CASE("an included file is named by its whole path") {
    World w;
    w.order.path = w.file("list", "bob\n");
    CHECK(w.ask().text == "bob\n");
    w.order.path = "list";
    CHECK(w.ask().status == Status::refused);
    w.order.path = w.place.path() / "missing";
    CHECK(w.ask().status == Status::none);
}

TEST_CASE("a file is believed only if nobody else can have written it") {
    World w;
    const auto read = [](const std::string& path) { return user_file::read(path, geteuid()); };
    for (const auto& [mode, said] : {std::pair{0600u, Status::found},
                                     {0644, Status::found},
                                     {0444, Status::found},
                                     {0755, Status::found},
                                     {0664, Status::refused},
                                     {0646, Status::refused},
                                     {0622, Status::refused},
                                     {0777, Status::refused}}) {
        CAPTURE(mode);
        CHECK(read(w.file("file", "x", mode)).status == said);
    }
    const std::string file = w.file("file", "x");
    if (geteuid() == 0) {
        REQUIRE(chown(file.c_str(), 65534, 65534) == 0);
        CHECK(read(file).why == file + " belongs to user 65534, not to 0");
        CHECK(user_file::read(file, 65534).status == Status::found);
        REQUIRE(chown(file.c_str(), 0, 0) == 0);
        CHECK(user_file::read(file, 65534).status == Status::found); // root may write for everybody
    }
    const std::string link = w.place.path() / "link", fifo = w.place.path() / "fifo";
    REQUIRE(symlink(file.c_str(), link.c_str()) == 0);
    CHECK(read(link).why == link + " is a symbolic link");
    REQUIRE(mkfifo(fifo.c_str(), 0600) == 0); // must not hang
    CHECK(read(fifo).why == fifo + " is not a plain file");
    for (const auto* odd : {"/dev/zero", "/dev/tty", "/"}) CHECK(read(odd).status == Status::refused);
    CHECK(read(file + "/below").status == Status::none);
    CHECK(read(file + std::string(300, 'x')).status == Status::refused);
}

TEST_CASE("what a file holds is bounded, and text") {
    World w;
    CHECK(user_file::read(w.file("file", std::string(largest_file, 'x')), geteuid()).text.size() == largest_file);
    CHECK(user_file::read(w.file("file", std::string(largest_file + 1, 'x')), geteuid()).status == Status::refused);
    CHECK(user_file::read(w.file("file", std::string_view("a\0b", 3)), geteuid()).status == Status::refused);
    const auto sparse = w.file("sparse", "");
    REQUIRE(truncate(sparse.c_str(), 1'000'000'000'000) == 0);
    CHECK(user_file::read(sparse, geteuid()).status == Status::refused);
}
