// The command lines that programs have been writing for thirty years.
#include "daemons/sendmail/options.h"
#include <doctest/doctest.h>

using namespace sendmail;
using proto::submit::Body;
using smtp::Ret;

namespace {
std::expected<Options, std::string> parse(std::vector<std::string> words,
                                          std::string_view name = "/usr/sbin/sendmail") {
    return parse_options(name, words);
}
} // namespace

TEST_CASE("callers as they are") {
    {
        const auto cron = parse({"-FCronDaemon", "-i", "-B8BITMIME", "-oem", "root"});
        REQUIRE(cron);
        CHECK(cron->full_name == "CronDaemon");
        CHECK(cron->dots == DotHandling::literal);
        CHECK(cron->body == Body::eight_bit);
        CHECK(cron->recipients == std::vector<std::string>{"root"});
        CHECK_FALSE(cron->sender);
    }
    {
        const auto mutt = parse({"-oem", "-oi", "-f", "a@b", "--", "-x@y", "c@d"});
        REQUIRE(mutt);
        CHECK(mutt->dots == DotHandling::literal);
        CHECK(mutt->sender == "a@b");
        CHECK(mutt->recipients == std::vector<std::string>{"-x@y", "c@d"});
    }
    {
        const auto php = parse({"-t", "-i", "-ffirst@x", "-f", "second@x"});
        REQUIRE(php);
        CHECK(php->from_header);
        CHECK(php->sender == "second@x");
    }
    {
        const auto sympa =
            parse({"-oi", "-odi", "-oem", "-N", "success,delay,failure", "-Rhdrs", "-Vabc123", "-f", "", "l@x"});
        REQUIRE(sympa);
        CHECK(sympa->notify == (2 | 4 | 8));
        CHECK(sympa->ret == Ret::headers);
        CHECK(sympa->envid == "abc123");
        CHECK(sympa->sender == "");
    }
    CHECK(parse({"-f", "<>", "a"})->sender == "");
    CHECK(parse({"-r", "x@y", "a"})->sender == "x@y");
    CHECK(parse({"-Nnever", "a"})->notify == 1);
    CHECK(parse({"-O", "smtputf8=yes", "-Orequiretls=yes", "-ODeliveryMode=b", "a"})->smtputf8);
    CHECK(parse({"-C", "/x", "a"})->config == "/x");
    CHECK(parse(
        {"-Am", "-L", "tag", "-U", "-h", "5", "-m", "-om", "-o7", "-n", "-c", "-x", "-p", "ESMTP:me", "-G", "a"}));
}

TEST_CASE("what it is asked to be") {
    CHECK(parse({}, "mailq")->mode == Mode::list);
    CHECK(parse({}, "/usr/bin/newaliases")->mode == Mode::aliases);
    CHECK(parse({"-bp"})->mode == Mode::list);
    CHECK(parse({"-bi"})->mode == Mode::aliases);
    CHECK(parse({"-I"})->mode == Mode::aliases);
    CHECK(parse({"-bs"})->mode == Mode::smtp);
    CHECK(parse({"-bv", "a"})->mode == Mode::verify);
    CHECK(parse({"-bm", "a"})->mode == Mode::deliver);
    CHECK(parse({"a"}, "")->mode == Mode::deliver);
    CHECK(parse({"a"}, "-sendmail")->mode == Mode::deliver);
}

TEST_CASE("-q, with and without what the letter asks for") {
    CHECK(parse({"-q"})->mode == Mode::flush);
    CHECK(parse({"-v", "-q"})->mode == Mode::flush);
    CHECK(parse({"-C", "f", "-q"})->mode == Mode::flush);
    CHECK(parse({"-C", "f", "-q"})->config == "f");
    CHECK(parse({"-q", "-C", "f"})->config == "f");
    CHECK(parse({"-q30m"})->mode == Mode::nothing);
    CHECK(parse({"-qI0123456789"})->only_message == "0123456789");
    CHECK(parse({"-qRexample.org"})->mode == Mode::flush);
    CHECK(parse({"-qRexample.org"})->only_site == "example.org");
    CHECK_FALSE(parse({"-qSx"}));
}

TEST_CASE("what is refused") {
    for (const auto& words : std::vector<std::vector<std::string>>{{},
                                                                   {"-i"},
                                                                   {"-Z", "a"},
                                                                   {"-f"},
                                                                   {"-B", "9BIT", "a"},
                                                                   {"-N", "sometimes", "a"},
                                                                   {"-N", "never,success", "a"},
                                                                   {"-R", "half", "a"},
                                                                   {"-V", "a b", "a"},
                                                                   {"-bx", "a"},
                                                                   {"-bd"},
                                                                   {"-Osmtputf8=perhaps", "a"},
                                                                   {"-bv"},
                                                                   {"-bs", "-t"}}) {
        CAPTURE(words.empty() ? "" : words[0]);
        CHECK_FALSE(parse(words));
    }
}

TEST_CASE("options end at the first word that is none") {
    const auto options = parse({"a@b", "-t"});
    REQUIRE(options);
    CHECK_FALSE(options->from_header);
    CHECK(options->recipients == std::vector<std::string>{"a@b", "-t"});
}
