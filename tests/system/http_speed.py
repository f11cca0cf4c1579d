#!/usr/bin/python3
"""Submissions per second over HTTP with keep-alive, beside those over SMTP, into a Postrider of its own.

    tests/system/http_speed.py [--seconds 10] [--clients 16]

Both have as many connections, the same message and one process of clients. All mail is held in the queue (delivery is
paused), so that only acceptance is measured.
"""
import argparse
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from harness.http_api import Api  # noqa: E402
from harness.mta import Mta  # noqa: E402
from harness.ports import Block  # noqa: E402

MESSAGE = b"From: a@test.example\r\nTo: other@test.example\r\nSubject: speed\r\n\r\n" + b"x" * 70 + b"\r\n"


def over_http(api, until, counts, number):
    request = (f"POST /v1/messages?from=a@test.example&to=other@test.example HTTP/1.1\r\nHost: localhost\r\n"
               f"Authorization: Bearer {api.tokens['speed']}\r\nContent-Type: message/rfc822\r\n"
               f"Content-Length: {len(MESSAGE)}\r\n\r\n").encode() + MESSAGE
    with socket.create_connection((api.host, api.port)) as s:
        file = s.makefile("rb")
        while time.monotonic() < until:
            s.sendall(request)
            status = file.readline()
            assert b" 202 " in status, status + file.read1()
            length = 0
            while (line := file.readline()) != b"\r\n":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            file.read(length)
            counts[number] += 1


def over_smtp(mta, until, counts, number):
    with socket.create_connection((mta.address, mta.submission_port)) as s:
        file = s.makefile("rb")

        def say(text):
            s.sendall(text)
            while (line := file.readline())[3:4] == b"-":
                pass
            assert line[:1] in b"23", line
        file.readline()
        say(b"EHLO speed\r\n")
        while time.monotonic() < until:
            s.sendall(b"MAIL FROM:<a@test.example>\r\nRCPT TO:<other@test.example>\r\nDATA\r\n")
            for _ in range(3):
                assert (line := file.readline())[:1] in b"23", line
            say(MESSAGE + b".\r\n")
            counts[number] += 1


def measure(clients, seconds, client, target):
    counts, until = [0] * clients, time.monotonic() + seconds
    threads = [threading.Thread(target=client, args=(target, until, counts, n)) for n in range(clients)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return sum(counts) / seconds


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seconds", type=float, default=10)
    arguments.add_argument("--clients", type=int, default=16)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mta = Mta(folder, Block())
        try:
            api = Api(mta)
            mta.start()
            api.allow("speed", "--scope", "submit")
            mta.command("pause", "everything")
            for name, client, target in (("HTTP", over_http, api), ("SMTP", over_smtp, mta)):
                print(f"{name}: {measure(given.clients, given.seconds, client, target):.0f} submissions/s", flush=True)
        finally:
            mta.kill_everything()


if __name__ == "__main__":
    main()
