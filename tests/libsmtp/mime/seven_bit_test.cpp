// 8-bit content for 7-bit servers: a table of whole messages, in every cut; what cannot be converted and why;
// and whatever comes in, nothing 8-bit leaves.
#include "libsmtp/mime/seven_bit.h"
#include "tests/libsmtp/text/pieces.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <random>
#include <string>

using namespace smtp;

namespace {

SevenBitPlan survey(const pieces::Pieces& content) {
    SevenBitSurvey survey;
    for (const auto piece : content) survey.feed(piece);
    return survey.finish();
}

std::string convert(const pieces::Pieces& content) {
    const auto plan = survey(content);
    if (!plan.problem.empty()) return "problem: " + plan.problem;
    SevenBitConversion conversion(plan);
    std::string out;
    for (const auto piece : content) conversion.feed(piece, out);
    conversion.finish(out);
    return out;
}

std::string converted(std::string_view content) {
    const auto whole = convert({content});
    for (const auto& cut : pieces::every_way(content)) CHECK(convert(cut) == whole);
    return whole;
}

} // namespace

TEST_CASE("plain text becomes quoted-printable, and says so") {
    const std::string_view mime = "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n";
    CHECK(converted(std::string(mime) + "Content-Transfer-Encoding: 8bit\r\nSubject: x\r\n\r\nGr\xc3\xbc\xc3\x9f"
                                        "e = a \r\n.\r\n") ==
          std::string(mime) + "Content-Transfer-Encoding: quoted-printable\r\nSubject: x\r\n\r\n"
                              "Gr=C3=BC=C3=9Fe =3D a=20\r\n.\r\n");
    // Where no field says it: at the end of the header.
    CHECK(converted(std::string(mime) + "\r\n\xc3\xbc"
                                        "ben") ==
          std::string(mime) + "Content-Transfer-Encoding: quoted-printable\r\n\r\n=C3=BCben");
    // Folded, and with a comment.
    CHECK(converted(std::string(mime) + "content-transfer-encoding:\r\n (old)\r\n 8BIT\r\n\r\n\xc3\xbc"
                                        "aaaaa\r\n") ==
          std::string(mime) + "Content-Transfer-Encoding: quoted-printable\r\n\r\n=C3=BCaaaaa\r\n");
}

TEST_CASE("mail from before MIME gets the fields it lacks (RFC 1428)") {
    CHECK(converted("Subject: x\r\n\r\nGr\xc3\xbc\xc3\x9f"
                    "e\r\n") == "Subject: x\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n"
                                "Content-Transfer-Encoding: base64\r\n\r\nR3LDvMOfZQ0K\r\n");
    CHECK(converted("\r\nthe whole Gr\xfc\xdf"
                    "e\r\n") == "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=unknown-8bit\r\n"
                                "Content-Transfer-Encoding: quoted-printable\r\n\r\nthe whole Gr=FC=DFe\r\n");
}

TEST_CASE("of several parts only those that need it are touched") {
    CHECK(converted("MIME-Version: 1.0\r\n"
                    "Content-Type: multipart/mixed; boundary=\"a b\"\r\n"
                    "Content-Transfer-Encoding: 8bit\r\n"
                    "\r\n"
                    "preamble\r\n"
                    "--a b\r\n"
                    "\r\n"
                    "plain =C3 \r\n"
                    "--a b \r\n"
                    "Content-Type: application/octet-stream\r\n"
                    "\r\n"
                    "\xff\xfe\xfd\r\n"
                    "\r\n"
                    "--a b\r\n"
                    "Content-Type: multipart/alternative; boundary=a\r\n"
                    "\r\n"
                    "--a\r\n"
                    "Content-Transfer-Encoding: 8bit\r\n"
                    "\r\n"
                    "only ascii\r\n"
                    "--a\r\n"
                    "Content-Type: text/html\r\n"
                    "\r\n"
                    "<p>f\xc3\xbcr dich\r\n"
                    "--a b--\r\n"
                    "epilogue") == "MIME-Version: 1.0\r\n"
                                   "Content-Type: multipart/mixed; boundary=\"a b\"\r\n"
                                   "Content-Transfer-Encoding: 7bit\r\n"
                                   "\r\n"
                                   "preamble\r\n"
                                   "--a b\r\n"
                                   "\r\n"
                                   "plain =C3 \r\n"
                                   "--a b \r\n"
                                   "Content-Type: application/octet-stream\r\n"
                                   "Content-Transfer-Encoding: base64\r\n"
                                   "\r\n"
                                   "//79DQo=\r\n"
                                   "--a b\r\n"
                                   "Content-Type: multipart/alternative; boundary=a\r\n"
                                   "\r\n"
                                   "--a\r\n"
                                   "Content-Transfer-Encoding: 7bit\r\n"
                                   "\r\n"
                                   "only ascii\r\n"
                                   "--a\r\n"
                                   "Content-Type: text/html\r\n"
                                   "Content-Transfer-Encoding: quoted-printable\r\n"
                                   "\r\n"
                                   "<p>f=C3=BCr dich\r\n"
                                   "--a b--\r\n"
                                   "epilogue");
}

TEST_CASE("messages inside are walked too") {
    CHECK(converted("Content-Type: multipart/digest; boundary=x\r\n\r\n"
                    "--x\r\n"
                    "\r\n"
                    "Subject: inside\r\n"
                    "\r\n"
                    "all this is for d\xc3\xbc\r\n"
                    "--x\r\n"
                    "Content-Type: message/rfc822\r\n"
                    "Content-Transfer-Encoding: 8bit\r\n"
                    "\r\n"
                    "Subject: two\r\n"
                    "Content-Type: text/plain; charset=utf-8\r\n"
                    "\r\n"
                    "\xc3\xbc is not all there is\r\n"
                    "--x--\r\n") == "Content-Type: multipart/digest; boundary=x\r\n\r\n"
                                    "--x\r\n"
                                    "\r\n"
                                    "Subject: inside\r\n"
                                    "MIME-Version: 1.0\r\n"
                                    "Content-Type: text/plain; charset=utf-8\r\n"
                                    "Content-Transfer-Encoding: quoted-printable\r\n"
                                    "\r\n"
                                    "all this is for d=C3=BC\r\n"
                                    "--x\r\n"
                                    "Content-Type: message/rfc822\r\n"
                                    "Content-Transfer-Encoding: 7bit\r\n"
                                    "\r\n"
                                    "Subject: two\r\n"
                                    "Content-Type: text/plain; charset=utf-8\r\n"
                                    "MIME-Version: 1.0\r\n"
                                    "Content-Transfer-Encoding: quoted-printable\r\n"
                                    "\r\n"
                                    "=C3=BC is not all there is\r\n"
                                    "--x--\r\n");
}

TEST_CASE("what cannot be converted says why") {
    const std::string_view ue = "\xc3\xbc";
    const auto in = [&](std::string_view header) {
        return converted(std::string(header) + "\r\n" + std::string(ue) + "\r\n");
    };
    CHECK(in("Subject: "
             "\xc3\xbc"
             "\r\n") == "problem: 8-bit bytes in a header field");
    CHECK(in("Content-Type: multipart/signed; boundary=x\r\n") ==
          "problem: 8-bit bytes in a part that is signed; any change would break the signature");
    CHECK(in("Content-Type: multipart/encrypted; boundary=x\r\n") ==
          "problem: 8-bit bytes in a part that is encrypted (multipart/encrypted)");
    CHECK(in("Content-Type: multipart/mixed; boundary=x\r\n") == "problem: 8-bit bytes outside of its parts");
    CHECK(in("Content-Type: multipart/mixed\r\n") ==
          "problem: 8-bit bytes in a part that is multipart without a boundary");
    CHECK(in("Content-Transfer-Encoding: base64\r\n") ==
          "problem: 8-bit bytes in a part that is marked as encoded already (Content-Transfer-Encoding)");
    CHECK(in("Content-Transfer-Encoding: x-uuencode\r\n") ==
          "problem: 8-bit bytes in a part that has an unknown Content-Transfer-Encoding");
    CHECK(in("Content-Type: text\r\n") == "problem: 8-bit bytes in a part that has an invalid Content-Type");
    CHECK(in("Content-Type: text/plain\r\nContent-Type: text/html\r\n") ==
          "problem: 8-bit bytes in a part that has a duplicate field (Content-Type or "
          "Content-Transfer-Encoding)");
    CHECK(in("Content-Type: message/partial\r\n") ==
          "problem: 8-bit bytes in a part that is of a type that must not be encoded (message/...)");
    CHECK(in("no field at all\r\n") == "problem: 8-bit bytes in a part that has a header that does not end "
                                       "with an empty line");
    // But where there is nothing to convert, nothing is wrong with any of these.
    CHECK(converted("Content-Type: multipart/signed; boundary=x\r\nContent-Transfer-Encoding: 8bit\r\n\r\n--x\r\n") ==
          "Content-Type: multipart/signed; boundary=x\r\nContent-Transfer-Encoding: 8bit\r\n\r\n--x\r\n");
    // RFC 6532, 3.7: a message/global may be encoded as any file.
    CHECK(in("MIME-Version: 1.0\r\nContent-Type: message/global\r\n") ==
          "MIME-Version: 1.0\r\nContent-Type: message/global\r\nContent-Transfer-Encoding: base64\r\n\r\nw7wNCg==\r\n");

    std::string deep;
    for (int i = 0; i < 40; ++i) deep += "Content-Type: message/rfc822\r\n\r\n";
    CHECK(convert({deep + "\r\n\xc3\xbc\r\n"}) == "problem: 8-bit bytes in a part that is nested too deeply");
    std::string many = "Content-Type: multipart/mixed; boundary=x\r\n\r\n";
    for (int i = 0; i < 10'001; ++i) many += "--x\r\n\r\n\r\n";
    CHECK(convert({many}) == "problem: more than 10000 parts");
}

TEST_CASE("lines longer than SMTP's, and bytes that are no text, are encoded as well") {
    const std::string line(2500, 'x');
    const auto out = converted("Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\n" + line +
                               "\r\n--b\r\n\r\na\rb\r\n--b--\r\n");
    CHECK(out.find("quoted-printable\r\n\r\n" + std::string(75, 'x') + "=\r\n") != out.npos);
    CHECK(out.find("quoted-printable\r\n\r\na=0Db\r\n--b--") != out.npos);
}

TEST_CASE("no encoded line looks like a delimiter that is none") {
    // Where a line is broken for its length, what follows must not become one.
    const auto out = converted("Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\n\xc3\xbc" +
                               std::string(69, 'y') + "--x\r\n-- \r\n- item\r\n--x--\r\n");
    CHECK(out.ends_with("yyy=\r\n-=2Dx\r\n-=2D=20\r\n- item\r\n--x--\r\n"));
    const auto long_line =
        "Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\n--x" + std::string(1100, ' ') + "z\r\n--x--\r\n";
    CHECK(converted(long_line).find("\r\n\r\n-=2Dx ") != std::string::npos);
}

TEST_CASE("mixed up at random: the same however cut, no 8-bit byte, no over-long encoded line") {
    const std::string_view words[] = {"Content-Type: ",
                                      "multipart/mixed; boundary=x",
                                      "message/rfc822",
                                      "text/plain",
                                      "\r\n",
                                      "\r\n",
                                      "\r\n\r\n",
                                      "--x",
                                      "--x--",
                                      "--y",
                                      "multipart/digest; boundary=y",
                                      "\xc3\xbc",
                                      "\xff",
                                      "Content-Transfer-Encoding: ",
                                      "8bit",
                                      "binary",
                                      " ",
                                      "=",
                                      "a line of text",
                                      ";",
                                      "\n",
                                      "\r",
                                      "MIME-Version: 1.0\r\n",
                                      "Subject: x\r\n"};
    std::mt19937 random(20261122);
    int converted = 0;
    for (int n = 0; n < 20'000; ++n) {
        std::string content;
        for (auto length = random() % 60; length > 0; --length) content += words[random() % std::size(words)];
        const auto whole = convert({content});
        const auto step = 1 + random() % 30;
        bool same = convert(pieces::of(content, step)) == whole;
        bool clean = std::ranges::none_of(whole, [](char c) { return (c & 0x80) != 0; });
        converted += !whole.starts_with("problem: ");
        if (!same || !(clean || whole.starts_with("problem: "))) {
            CAPTURE(content);
            CAPTURE(whole);
            CHECK(same);
            CHECK(clean);
        }
    }
    CHECK(converted > 1000);
}
