#include "daemons/categorizer/lookup/user_files.h"
#include "daemons/common/config/config.h"
#include "daemons/common/ipc/listener.h"
#include "tests/common/ipc/fake_queue_manager.h"

using categorizer::UserFile;
using categorizer::UserFileAnswer;
using categorizer::UserFiles;
using proto::Role;
using Said = UserFileAnswer::Said;
namespace uf = proto::user_files;

namespace {

// This test is `local`.
struct World {
    World() {
        listen();
        files.configure(config.local);
    }
    void listen() {
        listener = std::make_unique<ipc::Listener>(premises.loop, premises.log, premises.listen("local"),
                                                   ipc::ExpectedTokens{"key", {Role::categorizer}});
        listener->serve<uf::Message>(
            uf::conversation, {Role::categorizer},
            [this](ipc::Peer, std::unique_ptr<ipc::Channel<uf::Message>> channel) {
                peer = std::move(channel);
                peer->set_callbacks({[this](uf::Message&& message) { asked.push_back(std::get<uf::Read>(message)); },
                                     [](const std::string&) {}});
            });
    }
    void wait(const std::function<bool()>& until) {
        while (!until()) uv_run(&premises.loop.uv(), UV_RUN_ONCE);
    }
    UserFileAnswer ask(const UserFile& file, uf::Answer answer) {
        CHECK(files.answer(file).said == Said::not_yet);
        files.find(file);
        wait([&] { return !asked.empty(); });
        answer.request = asked.front().request;
        asked.clear();
        static_cast<void>(peer->send(answer));
        const auto before = found.size();
        wait([&] { return found.size() > before; });
        CHECK(found.back() == file);
        return at_the_call;
    }
    fake::Premises premises{Role::categorizer};
    common::DaemonContext context = premises.context();
    config::Config config;
    std::unique_ptr<ipc::Listener> listener;
    std::unique_ptr<ipc::Channel<uf::Message>> peer;
    std::vector<uf::Read> asked;
    std::vector<UserFile> found;
    UserFileAnswer at_the_call;
    UserFiles files{context, [this](const UserFile& file) {
                        found.push_back(file);
                        at_the_call = files.answer(file);
                    }};
};

} // namespace

TEST_CASE("what a user's file says is asked of local") {
    World w;
    const auto text =
        w.ask({"ann", "", "lists"}, {0, uf::Status::found, "/home/ann/.forward", "\\ann, x@far.example", ""});
    CHECK(text.said == Said::found);
    CHECK(text.text == "\\ann, x@far.example");
    CHECK(text.path == "/home/ann/.forward");
    CHECK(w.ask({"bob", "", ""}, {}).said == Said::none);
    const auto why = w.ask({"eve", "/list", ""}, {0, uf::Status::unreadable, "/list", "", "/list: Input/output error"});
    CHECK(why.said == Said::unreadable);
    CHECK(why.why == "/list: Input/output error");
    CHECK(w.ask({"dan", "", ""}, {0, uf::Status::refused, "/home/dan/.forward", "", "a link"}).said == Said::none);
}

TEST_CASE("one question for many who want to know; asked again of a local that was started anew") {
    World w;
    for (int i = 0; i < 3; ++i) w.files.find({"ann", "", ""});
    w.files.find({"bob", "", ""});
    w.wait([&] { return w.asked.size() == 2; });
    CHECK(w.asked[0].user == "ann");
    w.peer.reset();
    w.listener.reset();
    w.asked.clear();
    std::filesystem::remove(w.premises.directory + "/run/private/local");
    w.listen();
    w.wait([&] { return w.asked.size() == 2; });
    for (const auto& question : w.asked)
        static_cast<void>(w.peer->send(uf::Answer{question.request, uf::Status::found, "/f", question.user, ""}));
    w.wait([&] { return w.found.size() == 2; });
    CHECK(w.at_the_call.text == "bob");
}

TEST_CASE("without .forward files nobody is asked") {
    World w;
    w.config.local.delivery.forward.clear();
    w.files.configure(w.config.local);
    CHECK(w.files.answer({"ann", "", ""}).said == Said::none);
    CHECK(w.files.answer({"ann", "/list", ""}).said == Said::not_yet);
}
